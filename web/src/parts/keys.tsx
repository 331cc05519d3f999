// API keys, for who may administrate: whose there are, a new one (shown once), and one that opens nothing any more.
import { useSignal } from '@preact/signals';
import { api, enc } from '../api/client';
import type { ApiKey, Page } from '../api/types';
import { useShown } from '../app/data';
import { caller } from '../app/facts';
import { visible } from '../app/format';
import { attempt, say } from '../app/say';
import { Act, Age, Copy, Section, Stamp, Until, Waiting } from './bits';
import { Ask, Dialog } from './dialog';

const path = '/api/v1/keys';
const roles: [string, string][] = [
  ['viewer', 'sees everything but what messages hold'],
  ['operator', 'sees all, replays and discards'],
  ['admin', 'may do everything'],
];

function NewKey({ close, made }: { close: () => void; made: () => void }) {
  const name = useSignal('');
  const role = useSignal('viewer');
  const shown = useSignal<string | null>(null);
  const make = () =>
    void attempt(async () => {
      const body = { name: name.value.trim(), role: role.value };
      shown.value = (await api<{ key: string }>(path, { method: 'POST', body })).key;
      made();
    });
  if (shown.value !== null)
    return (
      <Dialog title={`The key of ${visible(name.value.trim())}`} close={close}>
        <p class="command">
          <code class="wrap">{shown.value}</code>
          <Copy text={shown.value} what="Copy the key" />
        </p>
        <p>It is shown this once; the server keeps only a hash of it.</p>
        <div class="dialog-acts">
          <button type="button" class="button main" onClick={close}>
            I have it
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="New key" close={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.value.trim()) make();
        }}
      >
        <label class="field">
          Whose it is
          <input
            value={name.value}
            maxLength={100}
            autocomplete="off"
            onInput={(e) => (name.value = e.currentTarget.value)}
          />
        </label>
        <fieldset class="field">
          <legend>Role</legend>
          {roles.map(([one, about]) => (
            <label key={one} class="choice">
              <input type="radio" name="role" checked={role.value === one} onChange={() => (role.value = one)} />
              <b>{one}</b> <span class="note">{about}</span>
            </label>
          ))}
        </fieldset>
        <div class="dialog-acts">
          <button type="submit" class="button main" aria-disabled={!name.value.trim()}>
            Make the key
          </button>
          <button type="button" class="button plain" onClick={close}>
            Leave it
          </button>
          {!name.value.trim() && <span class="why">it needs a name</span>}
        </div>
      </form>
    </Dialog>
  );
}

function List() {
  const shown = useShown<Page<ApiKey>>(path, { every: 5000 });
  const making = useSignal(false);
  const ending = useSignal<ApiKey | null>(null);
  const items = shown.data?.items;
  const revoke = (one: ApiKey, reason: string) =>
    void attempt(async () => {
      await api(`${path}/${enc(one.id)}${reason && `?reason=${enc(reason)}`}`, { method: 'DELETE' });
      say(`The key of ${visible(one.name)} opens nothing any more.`);
      shown.refresh();
    });
  if (!items) return <Waiting shown={shown} />;
  return (
    <>
      <p class="bar">
        <Act run={() => (making.value = true)}>New key…</Act>
      </p>
      <table class="plain rows" aria-label="Keys">
        <thead>
          <tr>
            <th scope="col">Of</th>
            <th scope="col">State</th>
            <th scope="col">May</th>
            <th scope="col" class="number hide-narrow">
              Last used
            </th>
            <th scope="col" class="number hide-narrow">
              Ends
            </th>
            <th scope="col">
              <span class="unseen">Orders</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.id}>
              <th scope="row">
                {visible(one.name)} <span class="note mono hide-narrow">{one.id}</span>
              </th>
              <td>
                <Stamp word={one.state} tone={one.state === 'good' ? 'good' : 'quiet'} />
              </td>
              <td class="wrap">{one.role ?? one.scopes.join(' ')}</td>
              <td class="number hide-narrow">{one.last_used_at ? <Age time={one.last_used_at} /> : 'never'}</td>
              <td class="number hide-narrow">{one.expires_at ? <Until time={one.expires_at} /> : 'never'}</td>
              <td class="orders">
                {one.state === 'good' && (
                  <button
                    type="button"
                    class="quiet-button"
                    aria-label={`Revoke the key of ${visible(one.name)}`}
                    onClick={() => (ending.value = one)}
                  >
                    revoke…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {making.value && <NewKey close={() => (making.value = false)} made={shown.refresh} />}
      {ending.value && (
        <Ask
          title={`Revoke the key of ${visible(ending.value.name)}?`}
          verb="Revoke 1 key"
          danger
          typed={ending.value.name}
          close={() => (ending.value = null)}
          run={(reason) => ending.value && revoke(ending.value, reason)}
        >
          <p>
            Whoever uses <code>{ending.value.id}</code> is refused from now on, and its sessions end.
          </p>
        </Ask>
      )}
    </>
  );
}

// Absent where there are no keys, and for who may not see them.
export function Keys() {
  const who = caller.value;
  if (!who || who.actor === 'local' || !who.scopes.includes('admin')) return null;
  return (
    <Section title="Keys">
      <List />
    </Section>
  );
}

// Why does it not move? Explained in words, with what is parked and where the partitions are.
import { useSignal } from '@preact/signals';
import { api, enc, withQuery } from '../api/client';
import type { Explained, Page, Parked, Worker as WorkerType } from '../api/types';
import { asProblem, useShown } from '../app/data';
import { lacks } from '../app/facts';
import { bytesText, count, plural, visible } from '../app/format';
import { useKeys } from '../app/keys';
import { attempt, say } from '../app/say';
import { query, setQuery, term, to } from '../app/url';
import { Act, Age, Facts, Section, Stamp, Title, Trouble, Until, Waiting, useCli, useTitle } from '../parts/bits';
import { Ask } from '../parts/dialog';
import { errorText } from '../parts/letter_table';
import { workerTrouble } from '../parts/worker_words';

type Partition = NonNullable<WorkerType['partitions']>[number];

function Partitions({ list }: { list: Partition[] }) {
  if (list.length === 0) return <p class="note">It has no partition yet.</p>;
  return (
    <table class="plain" aria-label="Partitions">
      <thead>
        <tr>
          <th scope="col">Partition</th>
          <th scope="col">State</th>
          <th scope="col" class="number">
            Committed
          </th>
          <th scope="col" class="number hide-narrow">
            Frontier
          </th>
          <th scope="col" class="number hide-narrow">
            End
          </th>
          <th scope="col" class="number">
            Parked
          </th>
          <th scope="col" class="number">
            Held
          </th>
        </tr>
      </thead>
      <tbody>
        {list.map((one) => (
          <tr key={`${one.topic}/${one.partition}`}>
            <th scope="row" class="mono">
              {visible(one.topic)}/{one.partition}
            </th>
            <td>{one.state}</td>
            <td class="number">{count(one.committed)}</td>
            <td class="number hide-narrow">{count(one.frontier)}</td>
            <td class="number hide-narrow">{count(one.end)}</td>
            <td class="number">{count(one.parked)}</td>
            <td class="number">{count(one.held)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// The question is in the address: ?at=0:17 or ?key=…
function Explain({ name }: { name: string }) {
  const at = query.value.get('at') ?? '';
  const key = query.value.get('key') ?? '';
  const [partition, offset] = at.split(':');
  const shown = useShown<Explained>(
    withQuery('/api/v1/explain', { worker: name, partition, offset, key: at ? '' : key }),
    { every: 3000 },
  );
  const asked = useSignal(at || key);
  const ask = () => {
    const text = asked.value.trim();
    setQuery(/^\d+(:\d+)?$/.test(text) ? { at: text, key: null } : { key: text, at: null }, false);
  };
  const { data } = shown;
  return (
    <Section
      title="Explain"
      aside={
        <form
          class="ask-form"
          onSubmit={(event) => {
            event.preventDefault();
            ask();
          }}
        >
          <label>
            <span class="unseen">Partition:offset or key</span>
            <input
              value={asked.value}
              placeholder="0:17 or a key"
              onInput={(e) => (asked.value = e.currentTarget.value)}
            />
          </label>
          <button type="submit" class="button plain">
            Ask
          </button>
        </form>
      }
    >
      {shown.problem && <Trouble problem={shown.problem} />}
      {data && (
        <p class="answer" role="status">
          {visible(data.answer, true)}
        </p>
      )}
      {data && (data.partitions ?? []).length > 1 && (
        <ul class="answers">
          {(data.partitions ?? []).slice(0, 20).map((one) => (
            <li key={`${one.topic}/${one.partition}`}>
              <span class="mono">
                {visible(String(one.topic))}/{String(one.partition)}
              </span>{' '}
              {visible(String(one.answer))}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

export function Worker({ name }: { name: string }) {
  const path = `/api/v1/workers/${enc(name)}`;
  const shown = useShown<WorkerType>(path, { topics: ['workers'], every: 2000 });
  const parked = useShown<Page<Parked>>(`${path}/parked?limit=200`, { topics: ['workers'], every: 2000 });
  const giveUp = useSignal<Parked | 'all' | null>(null);
  useTitle(name);
  useCli(`bartleby explain ${name}`);
  const one = shown.data;
  const items = parked.data?.items ?? [];
  const refresh = () => {
    shown.refresh();
    parked.refresh();
  };
  const order = (verb: 'run-now' | 'give-up', which: Parked | 'all', reason = '') =>
    attempt(async () => {
      const body =
        which === 'all' ? { all: true } : { topic: which.topic, partition: which.partition, offset: which.offset };
      try {
        const at = `${path}/parked:${verb}${reason && `?reason=${enc(reason)}`}`;
        const done = await api<{ messages: number }>(at, { method: 'POST', body });
        say(
          verb === 'run-now'
            ? `${plural(done.messages, 'message')} run now.`
            : `${plural(done.messages, 'message')} given up: they become letters.`,
        );
      } catch (error) {
        if (asProblem(error).status !== 404) throw error;
        say('It is not parked any more.');
      }
      refresh();
    });
  const pause = (verb: 'pause' | 'resume') =>
    attempt(async () => {
      await api(`${path}:${verb}`, { method: 'POST' });
      say(verb === 'pause' ? `${name} is paused.` : `${name} goes on.`, {
        label: 'Undo',
        run: () => void pause(verb === 'pause' ? 'resume' : 'pause'),
      });
      refresh();
    });
  const nothing = items.length === 0 && 'nothing is parked';
  useKeys(
    [{ key: 'n', does: 'run all parked now', run: () => items.length > 0 && void order('run-now', 'all') }],
    [items.length === 0],
  );
  if (!one)
    return (
      <>
        <Title>{visible(name)}</Title>
        <Waiting shown={shown} />
      </>
    );
  const trouble = workerTrouble(one);
  return (
    <>
      {shown.problem && <Trouble problem={shown.problem} retry={shown.refresh} />}
      <Title
        stamp={<Stamp word={trouble?.word ?? one.state} tone={trouble ? 'warn' : 'good'} />}
        aside={<a href={to.letters(term('worker', name))}>its letters</a>}
      >
        {visible(name)}
      </Title>
      {trouble && (
        <p class="under">
          <span>{visible(trouble.why)}</span>
        </p>
      )}
      <div class="bar" role="toolbar" aria-label="With this worker">
        <Act kind="main" run={() => void order('run-now', 'all')} why={lacks('replay') || nothing}>
          Run {items.length > 0 ? count(parked.data?.count.value) : ''} parked now
        </Act>
        {one.state === 'paused' ? (
          <Act run={() => void pause('resume')} why={lacks('admin')}>
            Go on
          </Act>
        ) : (
          <Act run={() => void pause('pause')} why={lacks('admin')}>
            Pause
          </Act>
        )}
        {items.length > 0 && (
          <Act run={() => (giveUp.value = 'all')} why={lacks('discard')}>
            Give all up…
          </Act>
        )}
      </div>
      <Facts
        rows={[
          ['reads', <span class="mono">{visible((one.topics ?? []).join(', '))}</span>],
          ['group', visible(one.group ?? '–')],
          ['running', count(one.running)],
          ['parked', count(one.parked)],
          ['held', count(one.held)],
          ['lag', count(one.lag)],
          ['last attempt', <Age time={one.last_message_at} />],
          ['guard', one.guard_open ? 'open' : 'closed'],
        ]}
      />
      <Explain name={name} />
      <Section title="Parked" aside={parked.data && plural(parked.data.count.value, 'message')}>
        {parked.problem && <Trouble problem={parked.problem} />}
        {items.length === 0 && !parked.problem && <p class="note">No message waits for another attempt.</p>}
        {items.length > 0 && (
          <table class="plain rows" aria-label="Parked messages">
            <thead>
              <tr>
                <th scope="col">At</th>
                <th scope="col">Key</th>
                <th scope="col" class="hide-narrow">
                  Failed with
                </th>
                <th scope="col" class="number">
                  Attempts
                </th>
                <th scope="col" class="number">
                  Next
                </th>
                <th scope="col">
                  <span class="unseen">Orders</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((message) => {
                const at = `${message.partition}:${message.offset}`;
                return (
                  <tr key={`${message.topic}/${at}`}>
                    <th scope="row" class="mono">
                      {at}
                    </th>
                    <td class="mono">{bytesText(message.key).slice(0, 60)}</td>
                    <td class="hide-narrow wrap">{errorText({ error: message.error })}</td>
                    <td class="number">
                      {message.attempts} of {message.max_attempts ?? '–'}
                    </td>
                    <td class="number">{message.due ? <Until time={message.due} /> : 'kept'}</td>
                    <td class="orders">
                      <button
                        type="button"
                        class="quiet-button"
                        aria-label={`Explain ${at}`}
                        onClick={() => setQuery({ at, key: null }, false)}
                      >
                        Explain
                      </button>
                      {!lacks('replay') && (
                        <button
                          type="button"
                          class="quiet-button"
                          aria-label={`Run now: ${at}`}
                          onClick={() => void order('run-now', message)}
                        >
                          Run now
                        </button>
                      )}
                      {!lacks('discard') && (
                        <button
                          type="button"
                          class="quiet-button hide-narrow"
                          aria-label={`Give up… ${at}`}
                          onClick={() => (giveUp.value = message)}
                        >
                          Give up…
                        </button>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </Section>
      <Section title="Partitions">
        <Partitions list={one.partitions ?? []} />
      </Section>
      <Section title="Instances">
        <table class="plain" aria-label="Instances">
          <thead>
            <tr>
              <th scope="col">Instance</th>
              <th scope="col">Status</th>
              <th scope="col" class="number">
                Heartbeat
              </th>
              <th scope="col" class="number">
                Partitions
              </th>
              <th scope="col" class="number hide-narrow">
                Version
              </th>
            </tr>
          </thead>
          <tbody>
            {(one.instances ?? []).map((instance) => (
              <tr key={instance.id}>
                <th scope="row" class="mono">
                  {visible(instance.id)}
                </th>
                <td>{instance.status.toLowerCase().replace('_', ' ')}</td>
                <td class="number">
                  <Age time={instance.timestamp} />
                </td>
                <td class="number">{count(instance.partitions)}</td>
                <td class="number hide-narrow">{instance.version}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      {giveUp.value && (
        <Ask
          title="Give up?"
          danger
          close={() => (giveUp.value = null)}
          verb={
            giveUp.value === 'all' ? `Give ${plural(parked.data?.count.value ?? 0, 'message')} up` : 'Give 1 message up'
          }
          run={(reason) => {
            const which = giveUp.value;
            if (which) void order('give-up', which, reason);
          }}
        >
          <p>No more attempts: it becomes a letter with the reason GIVEN_UP, which can be replayed later.</p>
        </Ask>
      )}
    </>
  );
}

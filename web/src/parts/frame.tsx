// What is around every page: names, the query box, whether we are live, what runs, and the line for the terminal.
import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, signedOut } from '../api/client';
import type { Operation, Page } from '../api/types';
import { asProblem, forgetAll, useShown } from '../app/data';
import { askWho, caller } from '../app/facts';
import { visible } from '../app/format';
import { keys, useKeys } from '../app/keys';
import { link, liveWord, missed, paused, reconnect, togglePause } from '../app/live';
import { attempt, said, unsay } from '../app/say';
import { isDark, toggleTheme } from '../app/theme';
import { go, here, to } from '../app/url';
import { Copy, Stamp, useTitle } from './bits';
import { cliLine } from './cli_line';
import { Dialog } from './dialog';
import { QueryBox } from './query_box';

interface Tab {
  name: string;
  href: string;
  under: RegExp;
  key: string;
}

const tabs: Tab[] = [
  { name: 'Inbox', href: '/', under: /^\/(issues.*)?$/, key: 'g i' },
  { name: 'Letters', href: to.letters('state:open'), under: /^\/letters/, key: 'g l' },
  { name: 'Operations', href: '/operations', under: /^\/operations/, key: 'g o' },
  { name: 'Workers', href: '/workers', under: /^\/workers/, key: 'g w' },
  { name: 'DLQs', href: '/dlqs', under: /^\/dlqs/, key: 'g d' },
  { name: 'Activity', href: '/activity', under: /^\/activity/, key: 'g a' },
  { name: 'Status', href: '/status', under: /^\/status/, key: 'g s' },
];

function Running() {
  const { data } = useShown<Page<Operation>>('/api/v1/operations?state=running,paused,halted&limit=20', {
    topics: ['operations'],
    every: 3000,
  });
  const items = data?.items ?? [];
  if (items.length === 0) return null;
  const halted = items.filter((one) => one.state === 'halted').length;
  const first = items.length === 1 ? to.operation(items[0]!.id) : '/operations';
  return (
    <a class="running" href={first}>
      <Stamp word={halted > 0 ? 'halted' : items.some((one) => one.state === 'running') ? 'running' : 'paused'} />
      <span class="hide-narrow">{items.length === 1 ? `1 ${items[0]!.kind}` : `${items.length} operations`}</span>
    </a>
  );
}

function Live() {
  const word = liveWord.value;
  return (
    <button
      type="button"
      class={`live is-${paused.value ? 'paused' : link.value}`}
      onClick={togglePause}
      aria-pressed={paused.value}
      title={paused.value ? 'Go on (p)' : 'Hold still (p)'}
    >
      <i aria-hidden="true" />
      {word}
      {paused.value && missed.value > 0 ? `, ${missed.value} missed` : ''}
    </button>
  );
}

function Who({ name }: { name: string }) {
  const leave = () =>
    void attempt(async () => {
      await api('/api/v1/session', { method: 'DELETE' });
      signedOut.value = true;
    });
  return (
    <span class="who">
      {visible(name)}
      {name !== 'local' && (
        <button type="button" class="quiet-button" onClick={leave}>
          leave
        </button>
      )}
    </span>
  );
}

const spoken: Record<string, string> = { ' ': 'blank' };

function KeyList({ close }: { close: () => void }) {
  const all = keys.value.flat();
  return (
    <Dialog title="Keys" close={close}>
      <dl class="keys">
        {all.map((key) => (
          <div key={key.key}>
            <dt>
              {key.key.split(' ').map((one, i) => (
                <kbd key={i}>{spoken[one] ?? one}</kbd>
              ))}
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>open the row</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>close, leave the box</dd>
        </div>
      </dl>
    </Dialog>
  );
}

function SignIn() {
  const key = useSignal('');
  const wrong = useSignal('');
  const box = useRef<HTMLInputElement>(null);
  useTitle('Sign in');
  useEffect(() => box.current?.focus(), []);
  const open = async () => {
    try {
      await api('/api/v1/session', { method: 'POST', body: { key: key.value.trim() } });
    } catch (error) {
      const problem = asProblem(error);
      wrong.value = problem.status === 401 ? 'This key is not good here.' : problem.detail;
      return;
    }
    forgetAll();
    signedOut.value = false;
    reconnect();
    void askWho();
  };
  return (
    <main class="sign-in" id="main">
      <h1 tabIndex={-1}>Bartleby</h1>
      <p>The session is over, or there was none. A key opens one:</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void open();
        }}
      >
        <label class="field">
          Key
          <input
            ref={box}
            type="password"
            value={key.value}
            autocomplete="current-password"
            placeholder="bk_…"
            onInput={(e) => (key.value = e.currentTarget.value)}
          />
        </label>
        {wrong.value && (
          <p role="alert" class="why">
            {wrong.value}
          </p>
        )}
        <button type="submit" class="button main">
          Open
        </button>
      </form>
      <p class="note">
        New keys: <code>bartleby keys new</code>
      </p>
    </main>
  );
}

function Said() {
  return (
    <div class="said" role="status" aria-live="polite">
      {said.value.map((one) => (
        <p key={one.id} class={one.bad ? 'bad' : ''}>
          <span>{one.text}</span>
          {one.action && (
            <button
              type="button"
              class="button plain"
              onClick={() => {
                one.action!.run();
                unsay(one.id);
              }}
            >
              {one.action.label}
            </button>
          )}
          <button type="button" class="quiet-button" aria-label="Close" onClick={() => unsay(one.id)}>
            ×
          </button>
        </p>
      ))}
    </div>
  );
}

export function Frame({ children }: { children: ComponentChildren }) {
  const keysOpen = useSignal(false);
  useEffect(() => void askWho(), []);
  useKeys([
    { key: '?', does: 'this list', run: () => (keysOpen.value = true) },
    { key: 'p', does: 'hold still, go on', run: togglePause },
    { key: 't', does: 'light or dark', run: toggleTheme },
    { key: 'c', does: 'copy the command line', run: () => void navigator.clipboard?.writeText(cliLine.value) },
    ...tabs.map((tab) => ({ key: tab.key, does: tab.name, run: () => go(tab.href) })),
  ]);
  if (signedOut.value) return <SignIn />;
  return (
    <>
      <a class="skip" href="#main">
        To the page
      </a>
      <header class="top">
        <a class="name" href="/">
          Bartleby{caller.value && <span class="cluster">{visible(caller.value.server.cluster)}</span>}
        </a>
        <QueryBox />
        <div class="top-right">
          <Running />
          <Live />
          {caller.value && <Who name={caller.value.actor} />}
          <button
            type="button"
            class="quiet-button theme"
            onClick={toggleTheme}
            aria-label={isDark() ? 'Light colours' : 'Dark colours'}
          >
            {isDark() ? '☀' : '☾'}
          </button>
        </div>
        <nav aria-label="Pages">
          {tabs.map((tab) => (
            <a key={tab.name} href={tab.href} aria-current={tab.under.test(here.value.path) ? 'page' : undefined}>
              {tab.name}
            </a>
          ))}
        </nav>
      </header>
      {link.value === 'broken' && !paused.value && (
        <p class="band" role="status">
          No connection to the server. What you see is from before; it goes on by itself.
        </p>
      )}
      <main id="main">{children}</main>
      <footer class="bottom">
        <code class="cli">
          <span aria-hidden="true">$ </span>
          {cliLine.value}
        </code>
        <Copy text={cliLine.value} what="Copy the command" />
        <button type="button" class="quiet-button keys-button" onClick={() => (keysOpen.value = true)}>
          <kbd>?</kbd> keys
        </button>
      </footer>
      <Said />
      {keysOpen.value && <KeyList close={() => (keysOpen.value = false)} />}
    </>
  );
}

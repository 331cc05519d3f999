// Small pieces that every page uses.
import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Problem } from '../api/client';
import { age, count, exactMoment, until } from '../app/format';
import { cliLine } from './cli_line';
import { now } from '../app/live';

// A state as a stamp. The word says it; the colour only helps.
export function Stamp({ word, tone }: { word: string; tone?: Tone }) {
  return <span class={`stamp tone-${tone ?? toneOf(word)}`}>{word.replace(/_/g, ' ')}</span>;
}

export type Tone = 'bad' | 'warn' | 'good' | 'busy' | 'quiet';
const tones: Record<string, Tone> = {
  new: 'bad',
  regressed: 'bad',
  halted: 'bad',
  failed: 'bad',
  came_back: 'bad',
  unreachable: 'bad',
  silent: 'bad',
  lost: 'bad',
  DOWN: 'bad',
  fail: 'bad',
  FINANCIAL: 'warn',
  paused: 'warn',
  awaiting_approval: 'warn',
  unknown: 'warn',
  DEGRADED: 'warn',
  warn: 'warn',
  stalled: 'warn',
  open: 'busy',
  active: 'busy',
  planned: 'busy',
  running: 'busy',
  replaying: 'busy',
  sent: 'busy',
  resolved: 'good',
  done: 'good',
  succeeded: 'good',
  passed: 'good',
  UP: 'good',
  ok: 'good',
};
export function toneOf(word: string): Tone {
  return tones[word] ?? 'quiet';
}

export function Age({ time }: { time: string | null | undefined }) {
  return (
    <time class="age" dateTime={time ?? ''} title={exactMoment(time)}>
      {age(time, now.value)}
    </time>
  );
}

export function Until({ time }: { time: string | null | undefined }) {
  return (
    <time class="age" dateTime={time ?? ''} title={exactMoment(time)}>
      {until(time, now.value)}
    </time>
  );
}

// A number in a table: nothing is quieter than something.
export function Num({ n }: { n: number | undefined }) {
  return <span class={n ? '' : 'zero'}>{count(n)}</span>;
}

export function Copy({ text, what = 'Copy' }: { text: string; what?: string }) {
  const done = useSignal(false);
  return (
    <button
      type="button"
      class="quiet-button"
      aria-label={`${what}: ${text.slice(0, 80)}`}
      onClick={() => {
        void navigator.clipboard?.writeText(text);
        done.value = true;
        setTimeout(() => (done.value = false), 1500);
      }}
    >
      {done.value ? 'copied' : 'copy'}
    </button>
  );
}

// A button that cannot be pressed says why, to everybody: as text of its own, not only under a pointer.
export function Act(props: {
  children: ComponentChildren;
  run: () => void;
  why?: string | false | undefined;
  kind?: 'main' | 'danger' | 'plain';
  title?: string;
}) {
  const { why } = props;
  return (
    <span class="act">
      <button
        type="button"
        class={`button ${props.kind ?? 'plain'}`}
        title={why || props.title}
        aria-disabled={!!why}
        onClick={() => !why && props.run()}
      >
        {props.children}
      </button>
      {why && <span class="why">{why}</span>}
    </span>
  );
}

export function Title({
  children,
  stamp,
  aside,
}: {
  children: ComponentChildren;
  stamp?: ComponentChildren;
  aside?: ComponentChildren;
}) {
  return (
    <div class="title">
      <h1 tabIndex={-1}>{children}</h1>
      {stamp}
      {aside && <div class="aside">{aside}</div>}
    </div>
  );
}

export function Section({
  title,
  aside,
  children,
  id,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
  id?: string;
}) {
  const name = id ?? title.toLowerCase().replace(/[^a-z]+/g, '-');
  return (
    <section class="section" aria-labelledby={`h-${name}`}>
      <header>
        <h2 id={`h-${name}`}>{title}</h2>
        {aside && <div class="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <p class="command">
      <code>{text}</code>
      <Copy text={text} />
    </p>
  );
}

export function Trouble({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div class="trouble" role="alert">
      <strong>{problem.title}</strong>
      <span>{problem.detail}</span>
      {retry && (
        <button type="button" class="button plain" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

// What is shown of a document that is not there (yet).
export function Waiting({
  shown,
}: {
  shown: { loading: boolean; problem?: Problem | undefined; refresh: () => void };
}) {
  if (shown.problem) return <Trouble problem={shown.problem} retry={shown.refresh} />;
  return (
    <p class="loading" role="status">
      Looking…
    </p>
  );
}

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

// 24 numbers as bars. The sentence is for who cannot see them.
export function Spark({ values, label }: { values: number[]; label: string }) {
  const most = Math.max(1, ...values);
  const width = 4;
  return (
    <svg
      class="spark"
      width={values.length * width}
      height={20}
      viewBox={`0 0 ${values.length * width} 20`}
      role="img"
      aria-label={label}
    >
      {values.map((value, i) => {
        const height = value === 0 ? 1 : Math.max(2, Math.round((value / most) * 19));
        return (
          <rect key={i} class={value === 0 ? 'none' : ''} x={i * width} y={20 - height} width={3} height={height} />
        );
      })}
    </svg>
  );
}

export function useTitle(text: string) {
  useEffect(() => {
    document.title = `${text} · Bartleby`;
  }, [text]);
}

// The command that shows or does the same as this page.
export function useCli(line: string) {
  useEffect(() => {
    cliLine.value = line;
  }, [line]);
}

export function quoted(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}

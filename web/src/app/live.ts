// What the server says by itself (server-sent events), and whether we listen. While paused nothing on the page moves;
// what came meanwhile is counted.
import { computed, signal } from '@preact/signals';
import { api, signedOut } from '../api/client';

export type Topic = 'letters' | 'issues' | 'operations' | 'workers';
export type Link = 'connecting' | 'live' | 'broken';

export const link = signal<Link>('connecting');
export const paused = signal(false);
export const missed = signal(0);
export const now = signal(Date.now());

type Listener = (topics: ReadonlySet<Topic>) => void;
const listeners = new Set<Listener>();
let pending = new Set<Topic>();
let waiting = false;

export const liveWord = computed(() =>
  paused.value ? 'paused' : link.value === 'live' ? 'live' : link.value === 'broken' ? 'no connection' : 'connecting',
);

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const all: Topic[] = ['letters', 'issues', 'operations', 'workers'];

function tell() {
  waiting = false;
  const topics = pending;
  pending = new Set();
  for (const listener of [...listeners]) listener(topics);
}

// A burst of events is one look at the server.
export function heard(topics: Topic[]) {
  if (paused.value) {
    missed.value += 1;
    return;
  }
  for (const topic of topics) pending.add(topic);
  if (!waiting) {
    waiting = true;
    setTimeout(tell, 250);
  }
}

export function togglePause() {
  paused.value = !paused.value;
  if (!paused.value) {
    missed.value = 0;
    heard(all);
  }
}

let source: EventSource | null = null;
let retry = 500;

function connect() {
  source?.close();
  source = new EventSource('/api/v1/events');
  const on = (event: string, topics: Topic[]) => source!.addEventListener(event, () => heard(topics));
  source.addEventListener('snapshot', () => {
    const again = link.value === 'broken';
    link.value = 'live';
    retry = 500;
    if (again) heard(all);
  });
  on('letter.arrived', ['letters', 'issues']);
  on('issue', ['issues']);
  on('operation', ['operations', 'letters']);
  on('worker', ['workers']);
  on('group', ['workers']);
  source.onerror = () => {
    if (link.value === 'live' || link.value === 'connecting') link.value = 'broken';
    // The browser tries again by itself, but not after an answer that was no stream. It does not say which; whoever
    // asks for the session hears when it is over.
    if (source?.readyState === EventSource.CLOSED) {
      setTimeout(async () => {
        await api('/api/v1/session').catch(() => undefined);
        if (!signedOut.value) connect();
      }, retry);
      retry = Math.min(retry * 2, 10000);
    }
  };
}

export function reconnect() {
  link.value = 'connecting';
  retry = 500;
  connect();
}

export function start() {
  connect();
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) heard(all);
  });
}

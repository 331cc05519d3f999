// Keys. Pages say which they have while they are shown; the list of keys shows just these.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface Key {
  key: string; // as in KeyboardEvent.key, or two with a blank: `g i`
  does: string;
  run: () => void;
}

export const keys = signal<Key[][]>([]);
let first: { key: string; at: number } | null = null;

export function useKeys(list: Key[], dependencies: unknown[] = []) {
  const latest = useRef(list);
  latest.current = list;
  // As the page is drawn, not after: who sees a button may press its key at once.
  useLayoutEffect(() => {
    // What a key does is looked up when it is pressed: the page may have been drawn anew since.
    const mine = list.map((key) => ({ ...key, run: () => latest.current.find((one) => one.key === key.key)?.run() }));
    keys.value = [...keys.value, mine];
    return () => {
      keys.value = keys.value.filter((one) => one !== mine);
    };
  }, dependencies);
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function pressed(event: KeyboardEvent) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target)) {
    const box = event.target as HTMLInputElement;
    if (box.type !== 'checkbox' && box.type !== 'radio') return;
  }
  if (document.querySelector('dialog[open]')) return;
  const all = keys.value.flat().reverse(); // what was added last is nearest
  // By when they were pressed: a busy page may hear of both much later.
  const pair = first && event.timeStamp - first.at < 1200 ? `${first.key} ${event.key}` : null;
  first = null;
  const found = all.find((key) => key.key === pair) ?? all.find((key) => key.key === event.key);
  if (found) {
    event.preventDefault();
    found.run();
  } else if (all.some((key) => key.key.startsWith(`${event.key} `))) {
    first = { key: event.key, at: event.timeStamp };
  }
}

export function start() {
  addEventListener('keydown', pressed);
}

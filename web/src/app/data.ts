// Documents of the server, kept while they are looked at: shown at once from before, then as they are now.
import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api, ProblemError, type Problem } from '../api/client';
import { link, listen, paused, type Topic } from './live';

export interface Shown<T> {
  data?: T;
  problem?: Problem;
  loading: boolean;
}

const kept = new Map<string, Signal<Shown<unknown>>>();
const MOST_KEPT = 60;

function shelf<T>(path: string): Signal<Shown<T>> {
  let found = kept.get(path) as Signal<Shown<T>> | undefined;
  if (!found) {
    found = signal<Shown<T>>({ loading: true });
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!);
    kept.set(path, found as Signal<Shown<unknown>>);
  }
  return found;
}

export function asProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return { type: 'page', title: 'This page failed', status: 0, detail: error instanceof Error ? error.message : '?' };
}

const none = signal<Shown<never>>({ loading: false });

export interface Following {
  topics?: Topic[];
  every?: number; // ms; for what no event tells
}

export function useShown<T>(path: string | null, following: Following = {}): Shown<T> & { refresh: () => void } {
  const place = useMemo(() => (path === null ? none : shelf<T>(path)), [path]);
  const refresh = useMemo(() => {
    let running = false;
    let again = false;
    const load = async () => {
      if (path === null) return;
      if (running) {
        again = true;
        return;
      }
      running = true;
      try {
        place.value = { data: await api<T>(path), loading: false };
      } catch (error) {
        const before = place.peek().data;
        place.value = {
          ...(before === undefined ? {} : { data: before as T }),
          problem: asProblem(error),
          loading: false,
        };
      }
      running = false;
      if (again) {
        again = false;
        void load();
      }
    };
    return () => void load();
  }, [path]);
  useEffect(() => {
    refresh();
    const topics = following.topics ?? [];
    const stop = listen((said) => {
      if (topics.some((topic) => said.has(topic))) refresh();
    });
    const timer = following.every
      ? setInterval(() => {
          if (!paused.value && !document.hidden && link.value !== 'broken') refresh();
        }, following.every)
      : undefined;
    return () => {
      stop();
      clearInterval(timer);
    };
  }, [path]);
  return { ...(place.value as Shown<T>), refresh };
}

// What somebody else has seen here is not for who comes next.
export function forgetAll() {
  kept.clear();
}

// A list that grows at its end as one scrolls and at its beginning as things arrive: letters, issues, the audit.
import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api, withQuery, type Problem } from '../api/client';
import type { Page } from '../api/types';
import { asProblem } from './data';
import { listen, paused, type Topic } from './live';

const PAGE = 100;
const LARGE_PAGE = 500;
const NEAR_TOP = 200; // px

export interface Listed<T> {
  items: T[];
  next: string | null;
  count: { value: number; exact: boolean };
  loading: boolean;
  problem?: Problem;
  fresh: number; // that have arrived above what is shown
}

export interface List<T> {
  state: Signal<Listed<T>>;
  more: () => void;
  renew: () => void;
}

type Query = Record<string, string>;

function make<T>(
  path: string,
  query: Query,
  idOf: (one: T) => string,
  keep: (one: T) => T,
): List<T> & { quietly: () => void } {
  const at = (limit: number, cursor?: string) => withQuery(path, { ...query, limit, cursor });
  const empty = { items: [], next: null, count: { value: 0, exact: true }, loading: true, fresh: 0 };
  const state = signal<Listed<T>>(empty);
  let busy = false;
  let again = false;
  const ask = async (address: string) => {
    const page = await api<Page<T>>(address);
    return { ...page, items: page.items.map(keep) };
  };
  const load = async (work: () => Promise<void>) => {
    if (busy) return;
    busy = true;
    try {
      await work();
    } catch (error) {
      state.value = { ...state.value, problem: asProblem(error), loading: false };
    }
    busy = false;
    if (again) {
      again = false;
      quietly();
    }
  };
  const renew = () => {
    if (busy) {
      again = true;
      return;
    }
    void load(async () => {
      const limit = Math.min(LARGE_PAGE, Math.max(PAGE, state.value.items.length));
      const page = await ask(at(limit));
      const ids = new Set(page.items.map(idOf));
      const before = state.value.items;
      // Pages further down stay, as long as they join what was just read.
      const lastId = page.items.length > 0 ? idOf(page.items.at(-1)!) : '';
      const join = before.length > limit ? before.findIndex((one) => idOf(one) === lastId) : -1;
      const rest = join >= 0 ? before.slice(join + 1).filter((one) => !ids.has(idOf(one))) : [];
      const next = rest.length > 0 ? state.value.next : page.next;
      state.value = { items: [...page.items, ...rest], next, count: page.count, loading: false, fresh: 0 };
    });
  };
  // Somebody who has scrolled down reads: nothing may move under them.
  const quietly = () => {
    if (busy) {
      again = true;
      return;
    }
    if (scrollY < NEAR_TOP) return renew();
    void load(async () => {
      const page = await ask(at(PAGE));
      const known = new Set(state.value.items.map(idOf));
      const fresh = page.items.filter((one) => !known.has(idOf(one))).length;
      state.value = { ...state.value, count: page.count, fresh };
    });
  };
  const more = () => {
    const { next } = state.value;
    if (next === null) return;
    void load(async () => {
      const page = await ask(at(LARGE_PAGE, next));
      const known = new Set(state.value.items.slice(-2 * LARGE_PAGE).map(idOf));
      const items = state.value.items.concat(page.items.filter((one) => !known.has(idOf(one))));
      const { problem: _, ...rest } = state.value;
      state.value = { ...rest, items, next: page.next };
    });
  };
  return { state, more, renew, quietly };
}

interface Following<T> {
  topics: Topic[];
  keep?: (one: T) => T; // what is kept of each: a long list of large things makes the browser stop and clean up
  every?: number; // ms; for what no event tells
  inPlace?: boolean; // rows only change, none comes before another: nothing moves under a reader
}

export function useList<T>(path: string, query: Query, idOf: (one: T) => string, following: Following<T>): List<T> {
  const { topics, every, inPlace, keep } = following;
  const list = useMemo(() => make<T>(path, query, idOf, keep ?? ((one) => one)), [path, JSON.stringify(query)]);
  useEffect(() => {
    const look = inPlace ? list.renew : list.quietly;
    const scrolled = () => scrollY < NEAR_TOP && list.state.peek().fresh > 0 && list.renew();
    list.renew();
    const timer = every ? setInterval(() => !document.hidden && !paused.value && look(), every) : undefined;
    const stop = listen((said) => {
      if (topics.some((topic) => said.has(topic))) look();
    });
    addEventListener('scroll', scrolled, { passive: true });
    return () => {
      stop();
      clearInterval(timer);
      removeEventListener('scroll', scrolled);
    };
  }, [list, every, inPlace]);
  return list;
}

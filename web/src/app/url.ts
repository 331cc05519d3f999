// Where we are. All state that a colleague should see too is in the address; links are real links.
import { computed, signal } from '@preact/signals';

export const here = signal({ path: location.pathname, search: location.search });
export const query = computed(() => new URLSearchParams(here.value.search));

let leave: (() => void) | null = null;

function sync() {
  here.value = { path: location.pathname, search: location.search };
}

export function go(to: string, replace = false) {
  const target = new URL(to, location.href);
  if (target.pathname === location.pathname && target.search === location.search) return;
  const same = target.pathname === location.pathname;
  if (replace) history.replaceState(null, '', target);
  else history.pushState(null, '', target);
  sync();
  if (!same) leave?.();
}

// Called when another page is shown, so that the focus and the scroll begin at its top.
export function onPage(call: () => void) {
  leave = call;
}

export function setQuery(changes: Record<string, string | null>, replace = true) {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  go(location.pathname + (text ? `?${text}` : ''), replace);
}

export function start() {
  addEventListener('popstate', () => {
    sync();
    leave?.();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.getAttribute('href')?.startsWith('#') || link.pathname.startsWith('/api/')) return;
    event.preventDefault();
    go(link.href);
  });
}

export const to = {
  letters: (q: string) => `/letters?q=${encodeURIComponent(q)}`,
  letter: (id: string) => `/letters/${encodeURIComponent(id)}`,
  issue: (id: string) => `/issues/${encodeURIComponent(id)}`,
  operation: (id: string) => `/operations/${encodeURIComponent(id)}`,
  worker: (name: string) => `/workers/${encodeURIComponent(name)}`,
};

// A value of the query language, in quotes where it must be.
export function term(field: string, value: string): string {
  const plain = /^[^\s"\\]+$/.test(value);
  return `${field}:${plain ? value : `"${value.replace(/[\\"]/g, '\\$&')}"`}`;
}

// What the page knows before it asks, and what this server can do.
import { signal } from '@preact/signals';
import { api } from '../api/client';

interface Facts {
  version: string;
  cluster: string;
}

function read(): Facts {
  const text = document.querySelector<HTMLMetaElement>('meta[name=bartleby]')?.content ?? '';
  try {
    return { version: '', cluster: '', ...(JSON.parse(text) as Partial<Facts>) };
  } catch {
    return { version: '', cluster: '' };
  }
}

export const facts = read();

interface Caller {
  actor: string;
  scopes: string[];
}

// Who is asked for by this page; null: the server does not ask, and everybody may do everything.
export const caller = signal<Caller | null>(null);

// Why the caller may not do this; false: it may.
export function lacks(scope: 'replay' | 'discard' | 'admin'): string | false {
  const who = caller.value;
  return (
    who !== null && !who.scopes.includes(scope) && `your key has no right to ${scope === 'admin' ? 'do this' : scope}`
  );
}

export async function askWho() {
  try {
    caller.value = await api<Caller>('/api/v1/session');
  } catch {
    caller.value = null;
  }
}

// Who looks at this page, what they may do, and at which server: known once the server has been asked.
import { signal } from '@preact/signals';
import { api } from '../api/client';
import type { Session } from '../api/types';

export const caller = signal<Session | null>(null);

export type Right = 'replay' | 'discard' | 'admin';
const rights: Record<Right, string> = { replay: 'replay', discard: 'discard', admin: 'do this' };

// Why the caller may not do this; false: it may, or the server has not said yet, and then it answers for itself.
export function lacks(scope: Right): string | false {
  const who = caller.value;
  return who !== null && !who.scopes.includes(scope) && `your key has no right to ${rights[scope]}`;
}

export async function askWho() {
  try {
    caller.value = await api<Session>('/api/v1/session');
  } catch {
    caller.value = null;
  }
}

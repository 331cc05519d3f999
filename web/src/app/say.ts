// Short messages at the bottom: what was done, and how to undo it.
import { signal } from '@preact/signals';
import { asProblem } from './data';

export interface Said {
  id: number;
  text: string;
  bad: boolean;
  action?: { label: string; run: () => void };
}

export const said = signal<Said[]>([]);
let last = 0;

export function unsay(id: number) {
  said.value = said.value.filter((one) => one.id !== id);
}

export function say(text: string, action?: Said['action'], bad = false) {
  const id = ++last;
  said.value = [...said.value.slice(-2), { id, text, bad, ...(action ? { action } : {}) }];
  setTimeout(() => unsay(id), action || bad ? 15000 : 5000);
}

// Runs something that may fail, and says so.
export async function attempt(work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    const problem = asProblem(error);
    say(`${problem.title}: ${problem.detail}`, undefined, true);
  }
}

// What the page knows before it asks, and what this server can do.
import { signal } from '@preact/signals';
import { api } from '../api/client';
import { asProblem } from './data';

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

// A server without operations has no buttons for them.
export const hasOperations = signal<boolean | null>(null);

export async function look() {
  try {
    await api('/api/v1/operations?limit=1');
    hasOperations.value = true;
  } catch (error) {
    const { status } = asProblem(error);
    if (status === 404) hasOperations.value = false;
    else if (status === 0) setTimeout(() => void look(), 2000);
    else hasOperations.value = true;
  }
}

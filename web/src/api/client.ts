// The one way to the server. What is wrong comes back as a Problem (RFC 9457), thrown; so does silence.
import { signal } from '@preact/signals';

export interface Problem {
  type: string;
  title: string;
  status: number; // 0: no answer at all
  detail: string;
  position?: number;
  state?: string;
  scope?: string;
  errors?: { pointer: string; detail: string }[];
  components?: Record<string, { details?: Record<string, unknown> }>; // of health that is DOWN
}

export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
  }
}

// A 401 anywhere: the key or the session is not (or no longer) good.
export const signedOut = signal(false);

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver?: Reviver) => unknown;

// Not crypto.randomUUID: browsers have it only over TLS and on localhost.
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// Integers beyond 2^53 stay exact: as BigInt. Few documents have one, so the slow way is taken only for those.
export function parseExactly(text: string): unknown {
  if (!/\d{16}/.test(text)) return parse(text);
  return parse(text, (_key, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && context?.source && /^-?\d+$/.test(context.source)
      ? BigInt(context.source)
      : value,
  );
}

async function problemOf(answer: Response): Promise<Problem> {
  const text = await answer.text();
  const fallback = { type: 'about:blank', title: answer.statusText, status: answer.status, detail: text.slice(0, 300) };
  if (!answer.headers.get('content-type')?.includes('json')) return fallback;
  try {
    return { ...fallback, ...(JSON.parse(text) as Partial<Problem>), status: answer.status };
  } catch {
    return fallback;
  }
}

export interface Call {
  method?: string;
  body?: unknown;
  text?: string; // instead of the body: JSON that is written already
  signal?: AbortSignal;
}

async function ask(path: string, call: Call): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  const method = call.method ?? 'GET';
  let body: string | null = null;
  if (call.text !== undefined) body = call.text;
  else if (call.body !== undefined) body = JSON.stringify(call.body);
  if (body !== null) headers['Content-Type'] = 'application/json';
  if (method === 'POST') headers['Idempotency-Key'] = newKey();
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, body, signal: call.signal ?? null, credentials: 'same-origin' });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ProblemError({
      type: 'silence',
      title: 'No answer',
      status: 0,
      detail: 'The server does not answer. Is it running?',
    });
  }
  if (answer.ok) return answer;
  if (answer.status === 401) signedOut.value = true;
  throw new ProblemError(await problemOf(answer));
}

export async function api<T>(path: string, call: Call = {}): Promise<T> {
  const answer = await ask(path, call);
  const text = await answer.text();
  return (text ? parseExactly(text) : undefined) as T;
}

// The bytes of a letter, at most so many of them; `null` is a message without a value.
export async function bytesOf(path: string, most: number, signal: AbortSignal) {
  const answer = await ask(path, { signal });
  const total = Number(answer.headers.get('content-length') ?? 0);
  if (answer.headers.get('bartleby-null') === 'true') return { bytes: null, total: 0 };
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = answer.body!.getReader();
  while (size < most) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
  }
  void reader.cancel();
  const bytes = new Uint8Array(Math.min(size, most));
  let at = 0;
  for (const part of parts) {
    bytes.set(part.subarray(0, Math.max(0, Math.min(part.length, most - at))), at);
    at += part.length;
    if (at >= most) break;
  }
  return { bytes, total: Math.max(total, bytes.length) };
}

export const enc = encodeURIComponent;

export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const parts = Object.entries(query).filter(([, v]) => v !== undefined && v !== '');
  return parts.length === 0 ? path : `${path}?${parts.map(([k, v]) => `${k}=${enc(String(v))}`).join('&')}`;
}

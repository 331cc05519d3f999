// Times, numbers, sizes and bytes as people read them.
import type { Bytes } from '../api/types';

// Thin spaces between thousands, as in a ledger.
export function count(n: number | bigint | undefined): string {
  return n === undefined ? '–' : n.toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s < 600 && s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor((s % 3600) / 60)} min` : ''}`;
  const d = Math.floor(s / 86400);
  return `${d} d`;
}

export function age(time: string | null | undefined, now: number): string {
  if (!time) return '–';
  const ms = now - Date.parse(time);
  if (ms < 5000) return 'now';
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

export function until(time: string | null | undefined, now: number): string {
  if (!time) return '–';
  const ms = Date.parse(time) - now;
  return ms <= 0 ? 'now' : `in ${span(ms)}`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

export function moment(time: string | null | undefined): string {
  if (!time) return '–';
  const at = new Date(time);
  const today = new Date().toDateString() === at.toDateString();
  return today ? clock.format(at) : `${day.format(at)} ${clock.format(at)}`;
}

export function exactMoment(time: string | null | undefined): string {
  return time ? full.format(new Date(time)) : '';
}

export function size(bytes: number | undefined): string {
  if (bytes === undefined) return '–';
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10240 ? 1 : 0)} kB`;
  return `${(bytes / 1048576).toFixed(1)} MB`;
}

// Control characters, line ends among them, and marks that turn the direction of writing, made visible. What people
// read must be what is there.
const tricky = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

const MOST_MARKS = 6;
const pile = new RegExp(`(\\p{M}{${MOST_MARKS}})\\p{M}+`, 'gu'); // marks on one letter, which grow over its neighbours

export function visible(text: string, keepLines = false): string {
  const flat = text.replace(
    pile,
    (all: string, first: string) => `${first}\u27e8${all.length - first.length} marks\u27e9`,
  );
  return flat.replace(tricky, (c) => {
    if (keepLines && (c === '\n' || c === '\t')) return c;
    const code = c.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : `\u27e8${code.toString(16).padStart(4, '0')}\u27e9`;
  });
}

export function bytesText(bytes: Bytes | undefined): string {
  if (bytes === null || bytes === undefined) return '–';
  if (typeof bytes === 'string') return visible(bytes);
  return `base64:${bytes.base64}`;
}

export function short(id: string): string {
  return id.length > 14 ? `${id.slice(0, 12)}…` : id;
}

// What people do to letters. Selections become an operation whose plan is looked at first; one letter is done at once.
import { api, enc } from '../api/client';
import type { Letter, Operation } from '../api/types';
import { heard } from '../app/live';
import { attempt, say } from '../app/say';
import { go, to } from '../app/url';

export type Selection = { q: string } | { ids: string[] };

export function plan(kind: Operation['kind'], selection: Selection, more: Record<string, unknown> = {}) {
  return attempt(async () => {
    const operation = await api<Operation>('/api/v1/operations', {
      method: 'POST',
      body: { kind, ...selection, ...more },
    });
    if (operation.letters === 0 && operation.excluded.length === 0) say('No letter is meant by that.');
    go(to.operation(operation.id));
  });
}

export function order(id: string, verb: 'start' | 'pause' | 'resume' | 'cancel', done: () => void) {
  return attempt(async () => {
    await api(`/api/v1/operations/${enc(id)}:${verb}`, { method: 'POST', body: {} });
    heard(['operations', 'letters', 'issues']);
    done();
  });
}

export function replayOne(letter: Letter, edit: string | null, reason: string) {
  return attempt(async () => {
    const text = `{${edit === null ? '' : `"edit":${edit},`}"reason":${JSON.stringify(reason)}}`;
    await api(`/api/v1/letters/${enc(letter.id)}:replay`, { method: 'POST', text });
    say(edit === null ? 'Sent again. What becomes of it appears here.' : 'Sent again as edited.');
    heard(['letters', 'issues', 'operations']);
  });
}

export function restoreOne(id: string) {
  return attempt(async () => {
    await api(`/api/v1/letters/${enc(id)}:restore`, { method: 'POST', body: {} });
    say('Restored: the letter is open again.');
    heard(['letters', 'issues']);
  });
}

export function discardOne(id: string, reason: string) {
  return attempt(async () => {
    await api(`/api/v1/letters/${enc(id)}:discard`, { method: 'POST', body: { reason } });
    say('Discarded.', { label: 'Undo', run: () => void restoreOne(id) });
    heard(['letters', 'issues']);
  });
}

export function changeIssue(id: string, verb: 'resolve' | 'mute' | 'reopen', body: Record<string, unknown>) {
  return attempt(async () => {
    await api(`/api/v1/issues/${enc(id)}:${verb}`, { method: 'POST', body });
    const undo = verb === 'reopen' ? undefined : { label: 'Undo', run: () => void changeIssue(id, 'reopen', {}) };
    say({ resolve: 'Resolved. Another letter makes it regressed.', mute: 'Muted.', reopen: 'Open again.' }[verb], undo);
    heard(['issues']);
  });
}

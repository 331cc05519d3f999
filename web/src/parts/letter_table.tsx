// Letters as rows: the same columns wherever letters are listed.
import type { Signal } from '@preact/signals';
import type { Letter } from '../api/types';
import { bytesText, count, span, visible } from '../app/format';
import { to } from '../app/url';
import { Age, Stamp } from './bits';
import { DataTable, type Column } from './table';

// Of a letter, what its row shows.
export type LetterRow = Pick<
  Letter,
  | 'id'
  | 'state'
  | 'worker'
  | 'reason'
  | 'error'
  | 'attempts'
  | 'replays'
  | 'first_failure_at'
  | 'last_failure_at'
  | 'dlq'
  | 'origin'
>;

export function rowOf(one: LetterRow): LetterRow {
  const { id, state, worker, reason, attempts, replays, first_failure_at, last_failure_at, dlq } = one;
  const { headers: _, ...origin } = one.origin;
  const { stack: __, ...error } = one.error;
  return { id, state, worker, reason, attempts, replays, first_failure_at, last_failure_at, dlq, origin, error };
}

export function errorText(letter: { error: Letter['error']; reason?: string }): string {
  const { type, message } = letter.error;
  if (!type && !message) return letter.reason ?? '–';
  return visible([type, message].filter(Boolean).join(': ').slice(0, 300));
}

// Over how long its attempts failed; nothing where that is less than a second, or not known.
export function failedFor(letter: LetterRow): string {
  if (!letter.first_failure_at) return '';
  const took = Date.parse(letter.last_failure_at) - Date.parse(letter.first_failure_at);
  return took < 1000 ? '' : ` over ${span(took)}`;
}

export function originText(letter: LetterRow): string {
  const { topic, partition, offset } = letter.origin;
  if (partition === null || offset === null) return visible(topic || letter.dlq.topic);
  return `${visible(topic)}/${partition} @ ${offset}`;
}

const columns: Column<LetterRow>[] = [
  { id: 'state', head: 'State', kind: 'mark', hide: 'narrow', cell: (one) => <Stamp word={one.state} /> },
  {
    id: 'key',
    head: 'Key',
    cell: (one, { href }) => (
      <a href={href} class="mono">
        {bytesText(one.origin.key).slice(0, 60)}
      </a>
    ),
  },
  { id: 'error', head: 'Died of', kind: 'grow', cell: (one) => errorText(one) },
  { id: 'worker', head: 'Worker', hide: 'medium', cell: (one) => visible(one.worker || '–') },
  { id: 'origin', head: 'Origin', hide: 'medium', cell: (one) => <span class="mono">{originText(one)}</span> },
  { id: 'attempts', head: 'Attempts', kind: 'number', hide: 'medium', cell: (one) => count(one.attempts) },
  { id: 'lives', head: 'Lives', kind: 'number', hide: 'medium', cell: (one) => count(one.replays + 1) },
  { id: 'died', head: 'Died', kind: 'number', cell: (one) => <Age time={one.last_failure_at} /> },
];

export function LetterTable(props: {
  letters: LetterRow[];
  label: string;
  selected?: Signal<ReadonlySet<string>>;
  total?: number;
  near?: () => void;
}) {
  return (
    <DataTable
      label={props.label}
      rows={props.letters}
      columns={columns}
      id={(one) => one.id}
      href={(one) => to.letter(one.id)}
      name={(one) => `letter ${bytesText(one.origin.key).slice(0, 40)}`}
      {...(props.selected ? { selected: props.selected } : {})}
      {...(props.total === undefined ? {} : { total: props.total })}
      {...(props.near ? { near: props.near } : {})}
    />
  );
}

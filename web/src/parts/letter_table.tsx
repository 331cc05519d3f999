// Letters as rows: the same columns wherever letters are listed.
import type { Signal } from '@preact/signals';
import type { Letter } from '../api/types';
import { bytesText, count, visible } from '../app/format';
import { to } from '../app/url';
import { Age, Stamp } from './bits';
import { DataTable, type Column } from './table';

export function errorText(letter: { error: Letter['error']; reason?: string }): string {
  const { type, message } = letter.error;
  if (!type && !message) return letter.reason ?? '–';
  return visible([type, message].filter(Boolean).join(': ').slice(0, 300));
}

export function originText(letter: Letter): string {
  const { topic, partition, offset } = letter.origin;
  if (partition === null || offset === null) return visible(topic || letter.dlq.topic);
  return `${visible(topic)}/${partition} @ ${offset}`;
}

const columns: Column<Letter>[] = [
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
  letters: Letter[];
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

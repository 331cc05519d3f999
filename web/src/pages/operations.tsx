// What will happen, what did happen? All operations, the newest first.
import type { Operation } from '../api/types';
import { count, plural, visible } from '../app/format';
import { useList } from '../app/list';
import { to } from '../app/url';
import { Age, Command, Empty, Stamp, Title, Trouble, useCli, useTitle } from '../parts/bits';
import { Outcome } from '../parts/outcome';
import { DataTable, type Column } from '../parts/table';

const columns: Column<Operation>[] = [
  { id: 'state', head: 'State', kind: 'mark', cell: (one) => <Stamp word={one.state} /> },
  {
    id: 'what',
    head: 'What',
    cell: (one, { href }) => (
      <a href={href}>
        {one.kind} of {plural(one.letters, 'letter')}
      </a>
    ),
  },
  { id: 'outcome', head: 'Outcome', hide: 'narrow', cell: (one) => <Outcome operation={one} small /> },
  {
    id: 'why',
    head: 'Selection',
    kind: 'grow',
    hide: 'medium',
    cell: (one) => <span class="mono">{visible(one.selection)}</span>,
  },
  { id: 'by', head: 'By', hide: 'medium', cell: (one) => visible(one.actor) },
  { id: 'created', head: 'Planned', kind: 'number', cell: (one) => <Age time={one.created_at} /> },
];

export function Operations() {
  useTitle('Operations');
  useCli('bartleby ops ls');
  const list = useList<Operation>('/api/v1/operations', {}, (one) => one.id, {
    topics: ['operations'],
    every: 3000,
  });
  const state = list.state.value;
  return (
    <>
      <Title aside={<span role="status">{count(state.count.value)}</span>}>Operations</Title>
      {state.problem && <Trouble problem={state.problem} retry={list.renew} />}
      {state.items.length > 0 && (
        <DataTable
          label="Operations"
          rows={state.items}
          columns={columns}
          id={(one) => one.id}
          href={(one) => to.operation(one.id)}
          name={(one) => one.id}
          near={list.more}
        />
      )}
      {!state.loading && !state.problem && state.items.length === 0 && (
        <Empty title="No operation yet.">
          <p>
            An operation replays, discards or restores a selection of letters. First there is a plan, which says how
            many letters go where and who else reads them; nothing is sent before somebody starts it.
          </p>
          <Command text={`bartleby letters replay -q 'state:open worker:orders'`} />
        </Empty>
      )}
    </>
  );
}

// How full, how old, what is not read yet?
import type { Dlq, Page } from '../api/types';
import { useShown } from '../app/data';
import { count, visible } from '../app/format';
import { term, to } from '../app/url';
import { Age, Command, Empty, Num, Stamp, Title, Waiting, useCli, useTitle } from '../parts/bits';
import { DataTable, type Column } from '../parts/table';

const of = (state: string) => (one: Dlq) => one.letters[state] ?? 0;

const columns: Column<Dlq>[] = [
  {
    id: 'name',
    head: 'DLQ',
    kind: 'grow',
    of: (one) => one.name,
    cell: (one, { href }) => (
      <>
        <a href={href} class="mono">
          {visible(one.name)}
        </a>
        {one.class === 'financial' && (
          <>
            {' '}
            <Stamp word="FINANCIAL" />
          </>
        )}
        {one.missed > 0 && (
          <>
            {' '}
            <Stamp word={`${one.missed} lost`} tone="bad" />
          </>
        )}
      </>
    ),
  },
  {
    id: 'open',
    head: 'Open',
    kind: 'number',
    of: (one) => one.open,
    cell: (one) => (
      <b>
        <Num n={one.open} />
      </b>
    ),
  },
  {
    id: 'replaying',
    head: 'Replaying',
    kind: 'number',
    hide: 'medium',
    of: of('replaying'),
    cell: (one) => <Num n={of('replaying')(one)} />,
  },
  {
    id: 'resolved',
    head: 'Resolved',
    kind: 'number',
    hide: 'narrow',
    of: of('resolved'),
    cell: (one) => <Num n={of('resolved')(one)} />,
  },
  {
    id: 'discarded',
    head: 'Discarded',
    kind: 'number',
    hide: 'medium',
    of: of('discarded'),
    cell: (one) => <Num n={of('discarded')(one)} />,
  },
  {
    id: 'in',
    head: 'In per min',
    kind: 'number',
    hide: 'medium',
    of: (one) => one.in_per_min,
    cell: (one) => <Num n={one.in_per_min} />,
  },
  {
    id: 'oldest',
    head: 'Oldest open',
    kind: 'number',
    of: (one) => one.oldest ?? '',
    cell: (one) => <Age time={one.oldest} />,
  },
  {
    id: 'lag',
    head: 'Not read yet',
    kind: 'number',
    hide: 'narrow',
    of: (one) => one.intake_lag,
    cell: (one) => <Num n={one.intake_lag} />,
  },
  {
    id: 'partitions',
    head: 'Partitions',
    kind: 'number',
    hide: 'medium',
    of: (one) => one.partitions,
    cell: (one) => (one.partitions === 0 ? 'topic is gone' : count(one.partitions)),
  },
];

export function Dlqs() {
  useTitle('DLQs');
  useCli('bartleby dlqs ls');
  const shown = useShown<Page<Dlq>>('/api/v1/dlqs', { topics: ['letters', 'operations'], every: 5000 });
  const items = shown.data?.items;
  return (
    <>
      <Title>DLQs</Title>
      {!items && <Waiting shown={shown} />}
      {items && items.length > 0 && (
        <DataTable
          label="Dead letter topics"
          rows={items}
          columns={columns}
          id={(one) => one.name}
          href={(one) => to.letters(`${term('dlq', one.name)} state:open`)}
          name={(one) => one.name}
        />
      )}
      {items?.length === 0 && (
        <Empty title="No dead letter topic yet.">
          <p>
            A worker makes the one of its topic (<code>orders.dlq</code> of <code>orders</code>) when the first message
            dies.
          </p>
          <Command text="bartleby topics ls" />
        </Empty>
      )}
    </>
  );
}

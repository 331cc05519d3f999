// Is everybody alive and moving?
import type { Page, Worker } from '../api/types';
import { useShown } from '../app/data';
import { visible } from '../app/format';
import { to } from '../app/url';
import { Age, Command, Empty, Num, Stamp, Title, Waiting, useCli, useTitle } from '../parts/bits';
import { DataTable, type Column } from '../parts/table';
import { workerTrouble } from '../parts/worker_words';

const columns: Column<Worker>[] = [
  {
    id: 'state',
    head: 'State',
    kind: 'mark',
    of: (one) => one.state,
    cell: (one) => <Stamp word={workerTrouble(one)?.word ?? one.state} tone={workerTrouble(one) ? 'warn' : 'good'} />,
  },
  {
    id: 'name',
    head: 'Worker',
    kind: 'grow',
    of: (one) => one.name,
    cell: (one, { href }) => (
      <>
        <a href={href}>{visible(one.name)}</a>
        {workerTrouble(one) && <span class="note"> {visible(workerTrouble(one)!.why)}</span>}
      </>
    ),
  },
  {
    id: 'topics',
    head: 'Reads',
    hide: 'medium',
    cell: (one) => <span class="mono">{visible((one.topics ?? []).join(', '))}</span>,
  },
  {
    id: 'instances',
    head: 'Instances',
    kind: 'number',
    hide: 'medium',
    of: (one) => one.instances?.length ?? 0,
    cell: (one) => <Num n={one.instances?.length} />,
  },
  {
    id: 'running',
    head: 'Running',
    kind: 'number',
    hide: 'medium',
    of: (one) => one.running ?? 0,
    cell: (one) => <Num n={one.running} />,
  },
  { id: 'parked', head: 'Parked', kind: 'number', of: (one) => one.parked ?? 0, cell: (one) => <Num n={one.parked} /> },
  {
    id: 'held',
    head: 'Held',
    kind: 'number',
    hide: 'narrow',
    of: (one) => one.held ?? 0,
    cell: (one) => <Num n={one.held} />,
  },
  { id: 'lag', head: 'Lag', kind: 'number', of: (one) => one.lag ?? 0, cell: (one) => <Num n={one.lag} /> },
  {
    id: 'last',
    head: 'Last attempt',
    kind: 'number',
    hide: 'narrow',
    of: (one) => one.last_message_at ?? '',
    cell: (one) => <Age time={one.last_message_at} />,
  },
];

export function Workers() {
  useTitle('Workers');
  useCli('bartleby workers ls -w');
  const shown = useShown<Page<Worker>>('/api/v1/workers', { topics: ['workers', 'letters'], every: 2000 });
  const items = shown.data?.items;
  return (
    <>
      <Title>Workers</Title>
      {!items && <Waiting shown={shown} />}
      {items && items.length > 0 && (
        <>
          <DataTable
            label="Workers"
            rows={items}
            columns={columns}
            id={(one) => one.name}
            href={(one) => to.worker(one.name)}
            name={(one) => one.name}
          />
          <p class="note">
            Parked messages wait for their next attempt, held ones wait behind a parked message of their key. Lag counts
            neither: only what could run now and does not.
          </p>
        </>
      )}
      {items?.length === 0 && (
        <Empty title="No worker runs here.">
          <p>A worker reads topics and runs a handler for each message: an HTTP endpoint, for a start.</p>
          <Command text="bartleby serve --topic orders --to http://localhost:3000/orders" />
        </Empty>
      )}
    </>
  );
}

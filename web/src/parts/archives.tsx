// Letters that nobody dealt with in time, packed into files; each can be brought back.
import { useSignal } from '@preact/signals';
import { api, enc } from '../api/client';
import type { Archive } from '../api/types';
import { lacks } from '../app/facts';
import { count, moment, plural, size, visible } from '../app/format';
import { useList } from '../app/list';
import { heard } from '../app/live';
import { attempt, say } from '../app/say';
import { term, to } from '../app/url';
import { Age, Empty, Num, Trouble } from './bits';
import { Ask } from './dialog';
import { DataTable, type Column } from './table';

export function Archives() {
  const list = useList<Archive>('/api/v1/archives', {}, (one) => one.id, { topics: ['letters'], every: 5000 });
  const asking = useSignal<Archive | null>(null);
  const state = list.state.value;
  const restore = (one: Archive, reason: string) =>
    void attempt(async () => {
      const path = `/api/v1/archives/${enc(one.id)}:restore`;
      const done = await api<{ restored: number }>(path, { method: 'POST', body: { reason } });
      say(`${plural(done.restored, 'letter')} open again.`);
      heard(['letters', 'issues']);
      list.renew();
    });
  const columns: Column<Archive>[] = [
    { id: 'made', head: 'Made', kind: 'mark', cell: (one) => <Age time={one.created_at} /> },
    {
      id: 'dlq',
      head: 'Of',
      kind: 'grow',
      cell: (one, { href }) => (
        <a class="mono" href={href}>
          {visible(one.dlq)}
        </a>
      ),
    },
    {
      id: 'from',
      head: 'Died',
      hide: 'medium',
      cell: (one) => `${moment(one.first)} – ${moment(one.last)}`,
    },
    { id: 'letters', head: 'Letters', kind: 'number', hide: 'narrow', cell: (one) => count(one.letters) },
    { id: 'here', head: 'Still in it', kind: 'number', cell: (one) => <Num n={one.here} /> },
    { id: 'size', head: 'Size', kind: 'number', hide: 'narrow', cell: (one) => size(one.bytes) },
    {
      id: 'restore',
      head: 'Bring back',
      cell: (one) =>
        one.here > 0 &&
        !lacks('discard') && (
          <button
            type="button"
            class="quiet-button"
            aria-label={`Restore the archive of ${visible(one.dlq)}`}
            onClick={() => (asking.value = one)}
          >
            restore…
          </button>
        ),
    },
  ];
  return (
    <>
      {state.problem && <Trouble problem={state.problem} retry={list.renew} />}
      {state.items.length > 0 && (
        <DataTable
          label="Archives"
          rows={state.items}
          columns={columns}
          id={(one) => one.id}
          href={(one) => to.letters(`${term('dlq', one.dlq)} state:archived`)}
          name={(one) => one.id}
          total={state.count.value}
          near={list.more}
        />
      )}
      {!state.loading && !state.problem && state.items.length === 0 && (
        <Empty title="No archive yet.">
          <p>
            A letter that nobody deals with is archived when its time is over: after 30 days, or what{' '}
            <code>retention</code> of its dlq says. It stays in the lists, and its bytes can be brought back from here.
          </p>
        </Empty>
      )}
      {asking.value && (
        <Ask
          title={`Restore ${plural(asking.value.here, 'letter')}?`}
          verb={`Restore ${plural(asking.value.here, 'letter')}`}
          close={() => (asking.value = null)}
          run={(reason) => asking.value && restore(asking.value, reason)}
        >
          <p>
            What is still in this archive of <span class="mono">{visible(asking.value.dlq)}</span> is open again, with
            its bytes. The file stays.
          </p>
        </Ask>
      )}
    </>
  );
}

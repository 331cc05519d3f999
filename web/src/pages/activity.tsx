// Who did what?
import type { AuditLine } from '../api/types';
import { visible } from '../app/format';
import { useList } from '../app/list';
import { query, setQuery, to } from '../app/url';
import { restoreOne } from '../parts/actions';
import { Age, Empty, Title, Trouble, useCli, useTitle } from '../parts/bits';
import { DataTable, type Column } from '../parts/table';

function subjectHref(subject: string): string {
  if (subject.startsWith('ltr_')) return to.letter(subject);
  if (subject.startsWith('iss_')) return to.issue(subject);
  if (subject.startsWith('op_')) return to.operation(subject);
  return `/activity?subject=${encodeURIComponent(subject)}`;
}

function undoable(line: AuditLine): boolean {
  return line.subject.startsWith('ltr_') && line.to === 'discarded';
}

const columns: Column<AuditLine>[] = [
  { id: 'at', head: 'When', kind: 'mark', cell: (line) => <Age time={line.at} /> },
  { id: 'actor', head: 'Who', cell: (line) => visible(line.actor) },
  { id: 'action', head: 'Did', cell: (line) => <b>{visible(line.action).replace('_', ' ')}</b> },
  {
    id: 'subject',
    head: 'To',
    kind: 'wide',
    cell: (line, { href }) => (
      <a class="mono" href={href}>
        {visible(line.subject)}
      </a>
    ),
  },
  { id: 'change', head: 'Change', hide: 'narrow', cell: (line) => (line.to ? `${line.from || '–'} → ${line.to}` : '') },
  { id: 'reason', head: 'Reason', kind: 'grow', hide: 'medium', cell: (line) => visible(line.reason) },
  {
    id: 'undo',
    head: 'Undo',
    hide: 'narrow',
    cell: (line) =>
      undoable(line) && (
        <button type="button" class="quiet-button" onClick={() => void restoreOne(line.subject)}>
          undo
        </button>
      ),
  },
];

export function Activity() {
  const subject = query.value.get('subject') ?? '';
  useTitle('Activity');
  useCli(subject ? `bartleby audit ls ${subject}` : 'bartleby audit ls');
  const list = useList<AuditLine>('/api/v1/audit', subject ? { subject } : {}, (line) => String(line.line), {
    topics: ['issues', 'operations', 'letters'],
    every: 5000,
  });
  const state = list.state.value;
  return (
    <>
      <Title
        aside={
          subject && (
            <>
              of <span class="mono">{visible(subject)}</span>{' '}
              <button type="button" class="quiet-button" onClick={() => setQuery({ subject: null })}>
                of all
              </button>
            </>
          )
        }
      >
        Activity
      </Title>
      {state.problem && <Trouble problem={state.problem} retry={list.renew} />}
      {state.items.length > 0 && (
        <DataTable
          label="Audit"
          rows={state.items}
          columns={columns}
          id={(line) => String(line.line)}
          href={(line) => subjectHref(line.subject)}
          name={(line) => String(line.line)}
          total={state.count.value}
          near={list.more}
        />
      )}
      {!state.loading && !state.problem && state.items.length === 0 && (
        <Empty title="Nobody has done anything yet.">
          <p>
            Every change of a letter, an issue or an operation leaves a line here, with who, when and why. The lines are
            chained: <code>bartleby audit verify</code> finds one that was changed by hand.
          </p>
        </Empty>
      )}
    </>
  );
}

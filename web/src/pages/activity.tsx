// Who did what? And what time has done: archives.
import { useMemo } from 'preact/hooks';
import type { AuditLine } from '../api/types';
import { visible } from '../app/format';
import { useList } from '../app/list';
import { go, query, setQuery, to } from '../app/url';
import { changeIssue, restoreOne } from '../parts/actions';
import { Archives } from '../parts/archives';
import { Age, Empty, Title, Trouble, useCli, useTitle } from '../parts/bits';
import { DataTable, type Column } from '../parts/table';

function subjectHref(subject: string): string {
  if (subject.startsWith('ltr_')) return to.letter(subject);
  if (subject.startsWith('iss_')) return to.issue(subject);
  if (subject.startsWith('op_')) return to.operation(subject);
  return `/activity?subject=${encodeURIComponent(subject)}`;
}

// What can be undone in one press; null: nothing. Only the last line of a subject is: what it says still holds.
function undoOf(line: AuditLine): (() => void) | null {
  if (line.subject.startsWith('ltr_') && line.to === 'discarded') return () => void restoreOne(line.subject);
  if (line.subject.startsWith('iss_') && (line.to === 'resolved' || line.to === 'muted'))
    return () => void changeIssue(line.subject, 'reopen', {});
  return null;
}

interface Row {
  line: AuditLine;
  undo: (() => void) | null;
}

function rowsOf(lines: AuditLine[]): Row[] {
  const seen = new Set<string>();
  return lines.map((line) => {
    const last = !seen.has(line.subject);
    seen.add(line.subject);
    return { line, undo: last ? undoOf(line) : null };
  });
}

const columns: Column<Row>[] = [
  { id: 'at', head: 'When', kind: 'mark', cell: ({ line }) => <Age time={line.at} /> },
  { id: 'actor', head: 'Who', cell: ({ line }) => visible(line.actor) },
  { id: 'action', head: 'Did', cell: ({ line }) => <b>{visible(line.action).replace('_', ' ')}</b> },
  {
    id: 'subject',
    head: 'To',
    kind: 'wide',
    cell: ({ line }, { href }) => (
      <a class="mono" href={href}>
        {visible(line.subject)}
      </a>
    ),
  },
  {
    id: 'change',
    head: 'Change',
    hide: 'narrow',
    cell: ({ line }) => (line.to ? `${line.from || '–'} → ${line.to}` : ''),
  },
  { id: 'reason', head: 'Reason', kind: 'grow', hide: 'medium', cell: ({ line }) => visible(line.reason) },
  {
    id: 'undo',
    head: 'Undo',
    hide: 'narrow',
    cell: ({ undo }) =>
      undo && (
        <button type="button" class="quiet-button" onClick={undo}>
          undo
        </button>
      ),
  },
];

function Audit({ subject }: { subject: string }) {
  const list = useList<AuditLine>('/api/v1/audit', subject ? { subject } : {}, (line) => String(line.line), {
    topics: ['issues', 'operations', 'letters'],
    every: 5000,
  });
  const state = list.state.value;
  const rows = useMemo(() => rowsOf(state.items), [state.items]);
  return (
    <>
      {state.problem && <Trouble problem={state.problem} retry={list.renew} />}
      {rows.length > 0 && (
        <DataTable
          label="Audit"
          rows={rows}
          columns={columns}
          id={({ line }) => String(line.line)}
          href={({ line }) => subjectHref(line.subject)}
          name={({ line }) => String(line.line)}
          total={state.count.value}
          near={list.more}
        />
      )}
      {!state.loading && !state.problem && rows.length === 0 && (
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

export function Activity() {
  const subject = query.value.get('subject') ?? '';
  const archives = query.value.get('show') === 'archives';
  useTitle('Activity');
  useCli(archives ? 'bartleby archive ls' : subject ? `bartleby audit ls ${subject}` : 'bartleby audit ls');
  return (
    <>
      <Title
        aside={
          subject ? (
            <>
              of <span class="mono">{visible(subject)}</span>{' '}
              <button type="button" class="quiet-button" onClick={() => setQuery({ subject: null })}>
                of all
              </button>
            </>
          ) : (
            <div class="tabs" role="group" aria-label="Which activity">
              <button type="button" aria-pressed={!archives} onClick={() => go('/activity')}>
                Audit
              </button>
              <button type="button" aria-pressed={archives} onClick={() => go('/activity?show=archives')}>
                Archives
              </button>
            </div>
          )
        }
      >
        Activity
      </Title>
      {archives ? <Archives /> : <Audit subject={subject} />}
    </>
  );
}

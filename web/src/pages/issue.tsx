// What is this failure, is it over?
import { useSignal } from '@preact/signals';
import { enc } from '../api/client';
import type { Dlq, Issue as IssueType, Operation, Page } from '../api/types';
import { useShown } from '../app/data';
import { lacks } from '../app/facts';
import { count, moment, plural, visible } from '../app/format';
import { useKeys } from '../app/keys';
import { useList } from '../app/list';
import { to } from '../app/url';
import { changeIssue, plan } from '../parts/actions';
import { Act, Age, Section, Stamp, Title, Trouble, Waiting, useCli, useTitle } from '../parts/bits';
import { Ask, Dialog } from '../parts/dialog';
import { failedFor, LetterTable, rowOf, type LetterRow } from '../parts/letter_table';
import { Trend } from '../parts/trend';

const spans: [string, number | null][] = [
  ['an hour', 1],
  ['a day', 24],
  ['a week', 168],
  ['until it is reopened', null],
];

function Mute({ close, run }: { close: () => void; run: (body: Record<string, unknown>) => void }) {
  const reason = useSignal('');
  return (
    <Dialog title="Mute this issue" close={close}>
      <p>Nothing more is said of it. Its letters are kept and counted all the same.</p>
      <label class="field">
        Reason, for the audit
        <input value={reason.value} maxLength={1000} onInput={(e) => (reason.value = e.currentTarget.value)} />
      </label>
      <div class="dialog-acts">
        {spans.map(([label, hours]) => (
          <button
            key={label}
            type="button"
            class="button plain"
            onClick={() => {
              close();
              const until = hours === null ? {} : { until: new Date(Date.now() + hours * 3600000).toISOString() };
              run({ ...until, reason: reason.value.trim() });
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </Dialog>
  );
}

// What the issue's own line says already.
const told = new Set(['worker', 'dlq', 'group', 'topic', 'reason']);

function Shared({ issue }: { issue: IssueType }) {
  const letters = issue.shared?.letters ?? 0;
  const facts = (issue.shared?.facts ?? []).filter((fact) => !told.has(fact.name) || fact.letters < letters);
  if (facts.length === 0) return <p class="note">Nothing that most of them have in common was found.</p>;
  return (
    <table class="plain shared" aria-label="What its letters share">
      <tbody>
        {facts.slice(0, 12).map((fact) => (
          <tr key={fact.name + fact.value}>
            <th scope="row">{visible(fact.name)}</th>
            <td class="mono wrap">{visible(fact.value).slice(0, 120)}</td>
            <td class="number">
              <span class="share" aria-hidden="true">
                <i style={{ width: `${(fact.letters / letters) * 100}%` }} />
              </span>
              {count(fact.letters)} of {count(letters)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// How the newest of them died, which is how they die now.
function LastDeath({ letter }: { letter: LetterRow | undefined }) {
  if (!letter) return null;
  return (
    <span>
      the last died after {plural(letter.attempts, 'attempt')}
      {failedFor(letter)}
    </span>
  );
}

function Grouped() {
  return (
    <details class="grouped">
      <summary>What is grouped here?</summary>
      <p>
        Letters with the same kind and type of error that failed at the same frame of the stack or, without a stack,
        with the same message. Numbers and ids in it do not count: the title has # in their place.
      </p>
    </details>
  );
}

export function Issue({ id }: { id: string }) {
  const shown = useShown<IssueType>(`/api/v1/issues/${enc(id)}`, { topics: ['issues', 'letters', 'operations'] });
  const dlqs = useShown<Page<Dlq>>('/api/v1/dlqs', { topics: ['letters'] });
  const operations = useShown<Page<Operation>>('/api/v1/operations?limit=100', {
    topics: ['operations'],
    every: 5000,
  });
  const list = useList<LetterRow>('/api/v1/letters', { q: `issue:${id}` }, (one) => one.id, {
    topics: ['letters', 'operations'],
    every: 5000,
    keep: rowOf,
  });
  const asking = useSignal<'discard' | 'resolve' | 'mute' | null>(null);
  const one = shown.data;
  useTitle(one ? one.title : 'Issue');
  useCli(`bartleby issues show ${id}`);
  const open = one?.count.open ?? 0;
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const ticked = selected.value.size;
  const selection = ticked > 0 ? { ids: [...selected.value] } : { q: `issue:${id} state:open` };
  const meant = ticked > 0 ? plural(ticked, 'selected letter') : plural(open, 'open letter');
  const nothing = ticked === 0 && open === 0 && 'no letter of it is open';
  const replay = () => !nothing && void plan('replay', selection);
  useKeys(
    one
      ? [
          { key: 'r', does: 'replay its open letters…', run: replay },
          {
            key: 'd',
            does: 'discard its open letters…',
            run: () => void (!nothing && (asking.value = 'discard')),
          },
          { key: 'm', does: 'mute…', run: () => void (asking.value = 'mute') },
          { key: 'v', does: 'resolve…', run: () => void (asking.value = 'resolve') },
        ]
      : [],
    [one?.state, open],
  );
  if (!one)
    return (
      <>
        <Title>Issue</Title>
        <Waiting shown={shown} />
      </>
    );
  const financial = (dlqs.data?.items ?? []).some((dlq) => dlq.class === 'financial' && one.dlqs.includes(dlq.name));
  const closed = one.state === 'resolved' || one.state === 'muted';
  const state = list.state.value;
  const its = (operations.data?.items ?? []).filter((op) => op.selection.includes(id));
  const replays = its.filter((op) => op.kind === 'replay' && op.started_at !== null);
  return (
    <>
      {shown.problem && <Trouble problem={shown.problem} retry={shown.refresh} />}
      <Title
        stamp={
          <>
            <Stamp word={one.state} />
            {financial && <Stamp word="FINANCIAL" />}
          </>
        }
        aside={
          <>
            <b>{count(open)}</b> open of {count(one.count.total)}
          </>
        }
      >
        {visible(one.title)}
      </Title>
      <p class="under">
        {one.workers.map((name) => (
          <a key={name} href={to.worker(name)}>
            {visible(name)}
          </a>
        ))}
        {one.dlqs.map((name) => (
          <a key={name} href={to.letters(`dlq:${name}`)}>
            {visible(name)}
          </a>
        ))}
        <span>kind {one.kind}</span>
        <span>first {moment(one.first)}</span>
        <span>
          last <Age time={one.last} />
        </span>
        <LastDeath letter={state.items[0]} />
        {one.until && <span>muted until {moment(one.until)}</span>}
        {one.note && <q>{visible(one.note)}</q>}
      </p>
      <div class="bar" role="toolbar" aria-label="With this issue">
        <Act kind="main" run={replay} why={lacks('replay') || nothing}>
          Replay {meant}…
        </Act>
        {one.state !== 'resolved' && (
          <Act run={() => (asking.value = 'resolve')} why={lacks('replay')}>
            Resolve…
          </Act>
        )}
        {!closed && (
          <Act run={() => (asking.value = 'mute')} why={lacks('replay')}>
            Mute…
          </Act>
        )}
        {closed && (
          <Act run={() => void changeIssue(id, 'reopen', {}).then(shown.refresh)} why={lacks('replay')}>
            Reopen
          </Act>
        )}
        {!nothing && (
          <Act run={() => (asking.value = 'discard')} why={lacks('discard')}>
            Discard…
          </Act>
        )}
      </div>
      <div class="columns">
        <Section title="Last 24 hours" aside={replays.length > 0 && <span class="note">▲ a replay began</span>}>
          <Trend values={one.trend} replays={replays} />
        </Section>
        <Section title="What they share" aside={<span class="note">of the newest {count(one.shared?.letters)}</span>}>
          <Shared issue={one} />
        </Section>
      </div>
      {its.length > 0 && (
        <Section title="Operations">
          <ul class="lines">
            {its.slice(0, 5).map((op) => (
              <li key={op.id}>
                <Stamp word={op.state} />{' '}
                <a href={to.operation(op.id)}>
                  {op.kind} of {plural(op.letters, 'letter')}
                </a>{' '}
                <Age time={op.created_at} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Letters" aside={<a href={to.letters(`issue:${id}`)}>search in them</a>}>
        <Grouped />
        {state.items.length > 0 ? (
          <LetterTable
            letters={state.items}
            label="Letters of this issue"
            total={state.count.value}
            near={list.more}
            selected={selected}
          />
        ) : (
          <p class="note">{state.loading ? 'Looking…' : 'Its letters are gone.'}</p>
        )}
      </Section>
      {asking.value === 'resolve' && (
        <Ask
          title="Resolve this issue?"
          verb="Resolve"
          close={() => (asking.value = null)}
          run={(reason) => void changeIssue(id, 'resolve', { reason }).then(shown.refresh)}
        >
          <p>It is over. Its {plural(open, 'open letter')} stay open; another letter makes it regressed.</p>
        </Ask>
      )}
      {asking.value === 'mute' && (
        <Mute
          close={() => (asking.value = null)}
          run={(body) => void changeIssue(id, 'mute', body).then(shown.refresh)}
        />
      )}
      {asking.value === 'discard' && (
        <Ask
          title={`Discard ${meant}?`}
          verb="Show the plan"
          danger
          close={() => (asking.value = null)}
          run={(reason) => void plan('discard', selection, reason ? { reason } : {})}
        >
          <p>
            A plan is made first; nothing happens before it is started. What is discarded can be restored for a while.
          </p>
        </Ask>
      )}
    </>
  );
}

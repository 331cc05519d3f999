// What needs me now? New and regressed issues, workers that do not run, operations that stopped. Then all others.
import type { ComponentChildren } from 'preact';
import type { Dlq, Health, Issue, Letter, Operation, Page, Worker } from '../api/types';
import { useShown } from '../app/data';
import { caller } from '../app/facts';
import { count, plural, visible } from '../app/format';
import { useKeys } from '../app/keys';
import { useList } from '../app/list';
import { go, query, to } from '../app/url';
import { Age, Command, Empty, Spark, Stamp, Title, Trouble, Waiting, useCli, useTitle } from '../parts/bits';
import { workerTrouble } from '../parts/worker_words';

const views: [string, string, string][] = [
  ['', 'Needs you', 'new,regressed'],
  ['active', 'Active', 'active'],
  ['muted', 'Muted', 'muted'],
  ['resolved', 'Resolved', 'resolved'],
];

function Row(props: {
  href: string;
  word: string;
  title: string;
  place: ComponentChildren;
  spark?: ComponentChildren;
  number?: ComponentChildren;
  time?: string | null;
  open: string;
}) {
  return (
    <li class="in-row">
      <span class="in-mark">
        <Stamp word={props.word} />
      </span>
      <a class="in-title" href={props.href}>
        {props.title}
      </a>
      <span class="in-place">{props.place}</span>
      <span class="in-spark">{props.spark}</span>
      <span class="in-number">{props.number}</span>
      <span class="in-time">{props.time ? <Age time={props.time} /> : null}</span>
      <span class="in-open" aria-hidden="true">
        {props.open}
      </span>
    </li>
  );
}

function IssueRow({ issue, financial }: { issue: Issue; financial: Set<string> }) {
  const money = issue.dlqs.some((dlq) => financial.has(dlq));
  return (
    <Row
      href={to.issue(issue.id)}
      word={issue.state}
      title={visible(issue.title)}
      open="Issue"
      place={
        <>
          {[...issue.workers, ...issue.dlqs].map((one) => (
            <span key={one}>{visible(one)}</span>
          ))}
          {money && <Stamp word="FINANCIAL" />}
        </>
      }
      spark={<Spark values={issue.trend} label={`letters per hour, last 24 hours: ${issue.trend.join(' ')}`} />}
      number={
        <>
          {issue.count.open > 0 ? <b>{count(issue.count.open)}</b> : 'none'} open
        </>
      }
      time={issue.last}
    />
  );
}

function First() {
  return (
    <Empty title="Nothing has died here yet.">
      <p>
        Bartleby runs a handler for each message and keeps what cannot be handled as a letter. Letters that died of the
        same thing are one issue, and new issues appear on this page. To see one:
      </p>
      <Command text="bartleby receiver --port 3000 --fail 40%" />
      <Command text="bartleby serve --topic orders --to http://127.0.0.1:3000/orders" />
      <Command text={`seq 1 500 | bartleby send orders --lines`} />
    </Empty>
  );
}

export function Inbox() {
  const view = views.find(([name]) => name === (query.value.get('show') ?? '')) ?? views[0]!;
  const [, viewName, states] = view;
  useTitle('Inbox');
  useCli(`bartleby issues ls -s ${states}`);
  const list = useList<Issue>('/api/v1/issues', { state: states }, (one) => one.id, {
    topics: ['issues', 'letters'],
  });
  const active = useShown<Page<Issue>>('/api/v1/issues?state=active&limit=1', { topics: ['issues'] });
  const muted = useShown<Page<Issue>>('/api/v1/issues?state=muted&limit=1', { topics: ['issues'] });
  const total = useShown<Page<Issue>>('/api/v1/issues?limit=1', { topics: ['issues'] });
  const workers = useShown<Page<Worker>>('/api/v1/workers', { topics: ['workers'], every: 3000 });
  const dlqs = useShown<Page<Dlq>>('/api/v1/dlqs', { topics: ['letters', 'operations'] });
  const health = useShown<Health>('/actuator/health', { every: 5000 });
  const stopped = useShown<Page<Operation>>('/api/v1/operations?state=halted,awaiting_approval&limit=20', {
    topics: ['operations'],
    every: 5000,
  });
  const unknown = useShown<Page<Letter>>('/api/v1/letters?limit=1&q=reason%3AUNKNOWN%20state%3Aopen', {
    topics: ['letters'],
  });
  const state = list.state.value;
  const needs = view[0] === '';
  const financial = new Set((dlqs.data?.items ?? []).filter((one) => one.class === 'financial').map((one) => one.name));
  const unwell = (workers.data?.items ?? []).flatMap((one) => {
    const trouble = workerTrouble(one);
    return trouble ? [{ worker: one, ...trouble }] : [];
  });
  const parts = health.problem?.components ?? health.data?.components;
  const absent: unknown = parts?.workers?.details?.missing;
  const silent = (Array.isArray(absent) ? absent.map(String) : []).filter(
    (name) => !unwell.some(({ worker }) => worker.name === name),
  );
  const missed = (dlqs.data?.items ?? []).filter((one) => one.missed > 0);
  const down = health.data?.status === 'DOWN' || (health.problem && health.problem.status === 503);
  const halted = stopped.data?.items ?? [];
  const links = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('.in-row a')];
  const move = (by: number) => {
    const all = links();
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
  };
  useKeys([
    { key: 'j', does: 'next row', run: () => move(1) },
    { key: 'k', does: 'row before', run: () => move(-1) },
    { key: 'o', does: 'open the top row', run: () => links()[0]?.click() },
  ]);
  const others = needs ? unwell.length + silent.length + halted.length + missed.length + (down ? 1 : 0) : 0;
  const things = state.items.length + others;
  const well = (workers.data?.items.length ?? 0) - unwell.length - silent.length;
  return (
    <>
      <Title
        aside={
          <div class="tabs" role="group" aria-label="Which issues">
            {views.map(([name, label]) => (
              <button
                key={name}
                type="button"
                aria-pressed={name === view[0]}
                onClick={() => go(name ? `/?show=${name}` : '/')}
              >
                {label}
                {name === view[0] && things > 0 && ` ${count(state.count.value + others)}`}
              </button>
            ))}
          </div>
        }
      >
        Inbox
      </Title>
      {state.problem && <Trouble problem={state.problem} retry={list.renew} />}
      {state.loading && !state.problem && <Waiting shown={{ loading: true, refresh: list.renew }} />}
      <ul class="inbox" aria-label={viewName}>
        {needs && down && (
          <Row
            href="/status"
            word="DOWN"
            title="The server cannot do its work"
            open="Status"
            place={<span>{String(parts?.broker?.details?.error ?? parts?.store?.details?.error ?? 'see Status')}</span>}
          />
        )}
        {needs &&
          unwell.map(({ worker, word, why }) => (
            <Row
              key={worker.name}
              href={to.worker(worker.name)}
              word={word}
              title={visible(worker.name)}
              open="Worker"
              place={<span>{why}</span>}
              number={
                worker.parked ? (
                  <>
                    <b>{count(worker.parked)}</b> parked
                  </>
                ) : null
              }
            />
          ))}
        {needs &&
          silent.map((name) => (
            <Row
              key={name}
              href={to.worker(name)}
              word="silent"
              title={visible(name)}
              open="Worker"
              place={<span>it sends no heartbeat: does its process run?</span>}
            />
          ))}
        {needs &&
          halted.map((one) => (
            <Row
              key={one.id}
              href={to.operation(one.id)}
              word={one.state}
              title={`${one.kind} of ${plural(one.letters, 'letter')}`}
              open="Operation"
              place={<span>{visible(one.note || one.reason)}</span>}
              number={
                one.results.came_back ? (
                  <>
                    <b>{count(one.results.came_back)}</b> came back
                  </>
                ) : null
              }
              time={one.started_at ?? one.created_at}
            />
          ))}
        {needs &&
          missed.map((one) => (
            <Row
              key={one.name}
              href="/dlqs"
              word="lost"
              title={visible(one.name)}
              open="DLQs"
              place={<span>{plural(one.missed, 'record')} left the topic before anybody read them</span>}
            />
          ))}
        {state.items.map((issue) => (
          <IssueRow key={issue.id} issue={issue} financial={financial} />
        ))}
      </ul>
      {state.next !== null && state.items.length > 0 && (
        <p class="more">
          <button type="button" class="button plain" onClick={list.more}>
            Show more of {count(state.count.value)}
          </button>
        </p>
      )}
      {!state.loading && things === 0 && total.data?.count.value === 0 && <First />}
      {!state.loading && things === 0 && total.data?.count.value !== 0 && (
        <Empty title={needs ? 'Nothing needs you.' : `No issue is ${view[0]}.`}>
          {needs && <p>What is new, or comes back after it was resolved, appears here by itself.</p>}
        </Empty>
      )}
      <p class="quiet-line">
        <a href="/?show=active">{plural(active.data?.count.value ?? 0, 'issue')} active</a>,{' '}
        <a href="/?show=muted">{count(muted.data?.count.value)} muted</a>
        <span aria-hidden="true"> · </span>
        <a href="/workers">
          {count(well)} of {plural(workers.data?.items.length ?? 0, 'worker')} well
        </a>
        <span aria-hidden="true"> · </span>
        <a href={to.letters('state:open')}>
          {plural(
            (dlqs.data?.items ?? []).reduce((sum, one) => sum + one.open, 0),
            'letter',
          )}{' '}
          open
        </a>
        {(unknown.data?.count.value ?? 0) > 0 && (
          <>
            , <a href={to.letters('reason:UNKNOWN state:open')}>{count(unknown.data?.count.value)} unexplained</a>
          </>
        )}
        {caller.value && <span class="version">{caller.value.server.version}</span>}
      </p>
    </>
  );
}

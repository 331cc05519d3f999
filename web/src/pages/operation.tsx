// What will happen, what did happen? The plan reads like a sentence; below it, what becomes of every letter.
import { useSignal } from '@preact/signals';
import { api, enc } from '../api/client';
import type { ItemResult, Operation as OperationType, OperationItem, OperationState, Page } from '../api/types';
import { useShown } from '../app/data';
import { lacks } from '../app/facts';
import { count, exactMoment, moment, plural, size, span, visible } from '../app/format';
import { useKeys } from '../app/keys';
import { useList } from '../app/list';
import { now } from '../app/live';
import { attempt } from '../app/say';
import { query, setQuery, to } from '../app/url';
import { order, plan } from '../parts/actions';
import { Act, Age, Section, Stamp, Title, Trouble, Waiting, useCli, useTitle } from '../parts/bits';
import { Ask } from '../parts/dialog';
import { Steps } from '../parts/edit';
import { difference, parseTree } from '../parts/lossless';
import { Outcome } from '../parts/outcome';
import { DataTable, type Column } from '../parts/table';

const verbs = { replay: 'sent again', discard: 'discarded', restore: 'opened again', purge: 'deleted for ever' };
const way: OperationState[] = ['planned', 'running', 'done'];

function Way({ state }: { state: OperationState }) {
  const steps = way.includes(state) ? way : [...way.slice(0, 2), state];
  const at = steps.indexOf(state);
  return (
    <ol class="way" aria-label="Where it is">
      {steps.map((step, i) => (
        <li key={step} class={i < at ? 'past' : i === at ? 'here' : ''} aria-current={i === at ? 'step' : undefined}>
          {step.replace('_', ' ')}
        </li>
      ))}
    </ol>
  );
}

function Sentence({ one }: { one: OperationType }) {
  if (one.letters === 0)
    return (
      <div class="sentence">
        <p>No letter of the selection can be {verbs[one.kind]}.</p>
      </div>
    );
  if (one.kind !== 'replay')
    return (
      <div class="sentence">
        <p>
          <b>{plural(one.letters, 'letter')}</b> will be {verbs[one.kind]}.
        </p>
      </div>
    );
  return (
    <div class="sentence">
      <p>
        <b>{plural(one.letters, 'letter')}</b>, {size(one.bytes)}, {one.letters === 1 ? 'is' : 'are'} sent again
        {one.to.length === 1 ? ' to ' : ':'}
        {one.to.length === 1 && (
          <>
            <b class="mono">{visible(one.to[0]!.topic)}</b>, for group <b>{visible(one.to[0]!.group)}</b>.
          </>
        )}
      </p>
      {one.to.length > 1 && (
        <ul>
          {one.to.map((target) => (
            <li key={target.topic + target.group}>
              {count(target.letters)} to <b class="mono">{visible(target.topic)}</b>, for group {visible(target.group)}
            </li>
          ))}
        </ul>
      )}
      <p>
        The oldest of each key goes first,{' '}
        {one.rate ? (
          <>
            at most <b>{count(one.rate)} a second</b>
          </>
        ) : (
          'as fast as it goes'
        )}
        {one.seconds > 0 && <>, about {span(one.seconds * 1000)}</>}.
        {(one.canary ?? 0) > 0 && (
          <>
            {' '}
            First a canary of <b>{count(one.canary)}</b>; the others wait for what becomes of it.
          </>
        )}
        {one.halt && (
          <>
            {' '}
            It halts by itself when more than <b>{one.halt.came_back} %</b> come back.
          </>
        )}
      </p>
    </div>
  );
}

function Report({ one }: { one: OperationType }) {
  const lines: { text: string; tone: string }[] = [];
  for (const left of one.excluded)
    lines.push({ text: `${plural(left.count, 'letter')} left out: ${left.why}`, tone: 'quiet' });
  if (one.order_conflicts > 0)
    lines.push({
      tone: 'warn',
      text: `${plural(one.order_conflicts, 'letter')} have a newer message of the same key that was handled already`,
    });
  if (one.also_read_by.length > 0)
    lines.push({ text: `read too by ${one.also_read_by.join(', ')}: they see these messages again`, tone: 'warn' });
  if (one.spared.length > 0)
    lines.push({ text: `the topic is also read by ${one.spared.join(', ')}: they do not see it`, tone: 'quiet' });
  for (const warning of one.warnings) lines.push({ text: warning, tone: 'warn' });
  if (lines.length === 0 && one.kind !== 'replay') return <p class="note">Nothing is left out.</p>;
  if (lines.length === 0)
    return <p class="note">Nothing is left out, no other group reads it, no newer message of a key was handled.</p>;
  return (
    <ul class="report">
      {lines.map((line) => (
        <li key={line.text} class={`tone-${line.tone}`}>
          {visible(line.text)}
        </li>
      ))}
    </ul>
  );
}

function Previews({ one }: { one: OperationType }) {
  if (!one.previews?.length) return null;
  return (
    <Section title="What the edit makes of them">
      <ul class="previews">
        {one.previews.map((preview) => {
          const [before, after] = [parseTree(preview.before), parseTree(preview.after)];
          return (
            <li key={preview.letter}>
              <a class="mono" href={to.letter(preview.letter)}>
                {preview.letter}
              </a>
              {before && after ? (
                <Steps steps={difference(before, after)} />
              ) : (
                <pre class="bytes text" tabIndex={0}>
                  {visible(preview.after, true)}
                </pre>
              )}
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

function Rate({ one, done }: { one: OperationType; done: () => void }) {
  const rate = useSignal(String(one.rate ?? 0));
  const send = () =>
    void attempt(async () => {
      await api(`/api/v1/operations/${enc(one.id)}`, { method: 'PATCH', body: { rate: Number(rate.value) } });
      done();
    });
  return (
    <form
      class="rate"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label>
        rate{' '}
        <input
          type="number"
          min={0}
          max={1000000}
          value={rate.value}
          onInput={(e) => (rate.value = e.currentTarget.value)}
        />
        /s
      </label>
      {rate.value !== String(one.rate ?? 0) && (
        <button type="submit" class="button plain">
          Set
        </button>
      )}
    </form>
  );
}

const results: ItemResult[] = ['came_back', 'unknown', 'skipped', 'sent', 'succeeded', 'passed', 'pending'];
const columns: Column<OperationItem>[] = [
  { id: 'result', head: 'Result', kind: 'mark', cell: (one) => <Stamp word={one.result} /> },
  {
    id: 'letter',
    head: 'Letter',
    kind: 'wide',
    cell: (one, { href }) =>
      one.letter ? (
        <a class="mono" href={href}>
          {one.letter}
        </a>
      ) : (
        <span class="note">gone</span>
      ),
  },
  {
    id: 'to',
    head: 'Sent to',
    kind: 'wide',
    hide: 'medium',
    cell: (one) => (
      <span class="mono">{one.to ? `${visible(one.to.topic)}/${one.to.partition} @ ${one.to.offset}` : '–'}</span>
    ),
  },
  { id: 'note', head: 'Note', kind: 'grow', hide: 'narrow', cell: (one) => visible(one.note) },
  { id: 'at', head: 'When', kind: 'number', cell: (one) => <Age time={one.changed_at} /> },
];

const unsent = columns.filter((column) => column.id !== 'to'); // of what is not sent anywhere

function Items({ one }: { one: OperationType }) {
  const result = query.value.get('result') ?? '';
  const list = useList<OperationItem>(
    `/api/v1/operations/${enc(one.id)}/items`,
    result ? { result } : {},
    (item) => String(item.position),
    { topics: ['operations'], inPlace: true, ...(one.state === 'running' ? { every: 2000 } : {}) },
  );
  const state = list.state.value;
  return (
    <Section
      title="Letters"
      aside={
        <div class="tabs" role="group" aria-label="Only those that">
          <button type="button" aria-pressed={result === ''} onClick={() => setQuery({ result: null })}>
            all
          </button>
          {results
            .filter((name) => (one.results[name] ?? 0) > 0)
            .map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={result === name}
                onClick={() => setQuery({ result: name })}
              >
                {name.replace('_', ' ')} {count(one.results[name])}
              </button>
            ))}
        </div>
      }
    >
      {state.items.length > 0 ? (
        <DataTable
          label="Letters of this operation"
          rows={state.items}
          columns={one.kind === 'replay' ? columns : unsent}
          id={(item) => String(item.position)}
          href={(item) => to.letter(item.letter ?? '')}
          name={(item) => item.letter ?? 'a letter'}
          near={list.more}
        />
      ) : (
        <p class="note">{state.loading ? 'Looking…' : 'None.'}</p>
      )}
    </Section>
  );
}

export function Operation({ id }: { id: string }) {
  const shown = useShown<OperationType>(`/api/v1/operations/${enc(id)}`, { topics: ['operations'], every: 1500 });
  const asking = useSignal(false);
  const one = shown.data;
  useTitle(one ? `${one.kind} of ${plural(one.letters, 'letter')}` : 'Operation');
  const state = one?.state;
  useCli(
    state === 'planned'
      ? `bartleby ops start ${id}`
      : state === 'running'
        ? `bartleby ops watch ${id}`
        : `bartleby ops show ${id}`,
  );
  const run = (verb: 'start' | 'pause' | 'resume' | 'cancel') => () => void order(id, verb, shown.refresh);
  const start = () => (one?.kind === 'purge' ? void (asking.value = true) : run('start')());
  // Undone by the letters themselves: the same query would not find them any more, or others with them.
  const undo = () =>
    void attempt(async () => {
      const page = await api<Page<OperationItem>>(`/api/v1/operations/${enc(id)}/items?result=succeeded&limit=500`);
      await plan('restore', { ids: page.items.flatMap((item) => (item.letter ? [item.letter] : [])) });
    });
  useKeys(
    [
      ...(state === 'planned' && one && one.letters > 0 ? [{ key: 's', does: 'start', run: start }] : []),
      ...(state === 'running' ? [{ key: 's', does: 'pause', run: run('pause') }] : []),
      ...(state === 'paused' || state === 'halted' ? [{ key: 's', does: 'go on', run: run('resume') }] : []),
    ],
    [state, one?.letters],
  );
  if (!one)
    return (
      <>
        <Title>Operation</Title>
        <Waiting shown={shown} />
      </>
    );
  const over = ['done', 'cancelled', 'failed'].includes(one.state);
  const began = one.started_at !== null;
  const canary = one.canary ?? 0;
  const right = lacks(one.kind === 'replay' ? 'replay' : 'discard');
  const known = (one.results.succeeded ?? 0) + (one.results.came_back ?? 0) + (one.results.passed ?? 0);
  return (
    <>
      {shown.problem && <Trouble problem={shown.problem} retry={shown.refresh} />}
      <Title stamp={<Stamp word={one.state} />} aside={<Way state={one.state} />}>
        {one.kind.replace(/^./, (c) => c.toUpperCase())} of {plural(one.letters, 'letter')}
      </Title>
      <p class="under">
        <span class="mono">{one.id}</span>
        <span>by {visible(one.actor)}</span>
        <span title={exactMoment(one.created_at)}>planned {moment(one.created_at)}</span>
        {one.reason && <q>{visible(one.reason)}</q>}
        {one.selection && <span class="mono">{visible(one.selection)}</span>}
      </p>
      {one.state === 'halted' && (
        <div class="trouble" role="alert">
          <strong>It halted by itself</strong>
          <span>
            {visible(one.note) || 'too many letters came back'}. What was sent stays sent; nothing more goes out.
          </span>
        </div>
      )}
      {one.state !== 'halted' && one.note && (
        <p class="note" role="status">
          {visible(one.note)}
        </p>
      )}
      <div class="bar" role="toolbar" aria-label="With this operation">
        {one.state === 'planned' && (
          <Act
            kind={one.kind === 'replay' || one.kind === 'restore' ? 'main' : 'danger'}
            run={start}
            why={right || (one.letters === 0 && 'there is nothing to do')}
          >
            Start: {one.kind} {plural(one.letters, 'letter')}
            {one.kind === 'purge' && '…'}
          </Act>
        )}
        {one.state === 'running' && (
          <Act run={run('pause')} why={right}>
            Pause
          </Act>
        )}
        {one.state === 'paused' && (
          <Act kind="main" run={run('resume')} why={right}>
            Go on
          </Act>
        )}
        {one.state === 'halted' && (
          <Act run={run('resume')} why={right}>
            Go on all the same
          </Act>
        )}
        {!over && !right && <Act run={run('cancel')}>Cancel</Act>}
        {one.kind === 'discard' && over && (one.results.succeeded ?? 0) > 0 && (
          <Act run={undo} why={(one.results.succeeded ?? 0) > 500 && 'more than 500: restore them by a query'}>
            Undo: restore {plural(one.results.succeeded ?? 0, 'letter')}…
          </Act>
        )}
        {one.kind === 'replay' && !over && <Rate key={one.rate} one={one} done={shown.refresh} />}
      </div>
      {began && (
        <Section
          title={over ? 'What became of them' : 'So far'}
          aside={
            one.ended_at ? (
              <span>ended {moment(one.ended_at)}</span>
            ) : (
              <span>for {span(now.value - Date.parse(one.started_at!))}</span>
            )
          }
        >
          {canary > 0 && one.letters > canary && (one.state === 'running' || one.state === 'paused') && (
            <p class="canary" role="status">
              Canary {count(Math.min(known, canary))} of {count(canary)}
              {known >= canary ? ', the others follow.' : ': the others wait for it.'}
            </p>
          )}
          <Outcome operation={one} />
        </Section>
      )}
      <Section title="The plan">
        <Sentence one={one} />
        <Report one={one} />
      </Section>
      <Previews one={one} />
      <Items one={one} />
      {asking.value && (
        <Ask
          title={`Purge ${plural(one.letters, 'letter')}?`}
          verb={`Purge ${plural(one.letters, 'letter')}`}
          danger
          typed={String(one.letters)}
          reason={false}
          close={() => (asking.value = false)}
          run={run('start')}
        >
          <p>
            {plural(one.letters, 'letter')} of <span class="mono">{visible(one.dlqs.join(', '))}</span>: their bytes and
            stories are deleted here. Only the lines of the audit stay.
          </p>
        </Ask>
      )}
    </>
  );
}

// What happened to this one?
import { useSignal } from '@preact/signals';
import { enc } from '../api/client';
import type { AuditLine, Letter as LetterType, Story } from '../api/types';
import { useShown } from '../app/data';
import { lacks } from '../app/facts';
import { bytesText, exactMoment, moment, plural, size, visible } from '../app/format';
import { useKeys } from '../app/keys';
import { now } from '../app/live';
import { term, to } from '../app/url';
import { discardOne, replayOne, restoreOne } from '../parts/actions';
import { Act, Age, Copy, Facts, Section, Stamp, Title, Trouble, Waiting, useCli, useTitle } from '../parts/bits';
import { Ask } from '../parts/dialog';
import { EditAndReplay } from '../parts/edit';
import { errorText, failedFor, LetterTable, originText } from '../parts/letter_table';
import { parseTree } from '../parts/lossless';
import { Payload, useValue } from '../parts/payload';

function Lives({ letter, story }: { letter: LetterType; story: Story }) {
  return (
    <ol class="lives">
      {story.lives.map((life, i) => {
        const present = i === story.lives.length - 1;
        return (
          <li key={life.replays} class={present ? 'present' : ''}>
            <span class="life-when" title={exactMoment(life.died_at)}>
              {moment(life.died_at)}
            </span>
            <div>
              <p>
                <b>
                  {life.replays === 0
                    ? 'First life'
                    : `Life ${life.replays + 1}, after ${plural(life.replays, 'replay')}`}
                </b>
                {', died after '}
                {plural(life.attempts, 'attempt')}
                {present && failedFor(letter)}
              </p>
              <p class="life-error">{errorText({ error: life.error })}</p>
              <p class="note mono">
                {life.origin && `${visible(life.origin.topic)}/${life.origin.partition} @ ${life.origin.offset} → `}
                {visible(life.dlq.topic)}/{life.dlq.partition} @ {life.dlq.offset}
              </p>
              {present && letter.attempts > 1 && letter.first_failure_at && <Attempts letter={letter} />}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

// The first and the last attempt are known by their time; those between are only counted.
function Attempts({ letter }: { letter: LetterType }) {
  const most = 12;
  const dots = Math.min(letter.attempts, most);
  return (
    <div
      class="attempts"
      role="img"
      aria-label={`from ${moment(letter.first_failure_at)} to ${moment(letter.last_failure_at)}`}
    >
      <span>{moment(letter.first_failure_at)}</span>
      <span class="attempt-line">
        {Array.from({ length: dots }, (_, i) => (
          <i key={i} />
        ))}
      </span>
      <span>{moment(letter.last_failure_at)}</span>
      {letter.attempts > most && <span class="note">{letter.attempts} attempts</span>}
    </div>
  );
}

export function AuditLines({ lines }: { lines: AuditLine[] }) {
  if (lines.length === 0) return <p class="note">Nobody has done anything to it.</p>;
  return (
    <ol class="audit">
      {lines.map((line) => (
        <li key={line.line}>
          <Age time={line.at} />
          <span>
            <b>{visible(line.actor)}</b> {visible(line.action)}
            {line.to && `: ${line.from} → ${line.to}`}
          </span>
          {line.reason && <q>{visible(line.reason)}</q>}
        </li>
      ))}
    </ol>
  );
}

function Headers({ headers }: { headers: NonNullable<LetterType['origin']['headers']> }) {
  if (headers.length === 0) return <p class="note">The message had no headers.</p>;
  return (
    <table class="plain" aria-label="Headers">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {headers.map(([name, value], i) => (
          <tr key={i}>
            <th scope="row" class="mono">
              {bytesText(name)}
            </th>
            <td class="mono wrap">{bytesText(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function whyNot(state: LetterType['state'], wanted: 'open' | 'discarded'): string | false {
  return state !== wanted && `the letter is ${state}`;
}

export function Letter({ id }: { id: string }) {
  const letter = useShown<LetterType>(`/api/v1/letters/${enc(id)}`, { topics: ['letters', 'operations'], every: 5000 });
  const story = useShown<Story>(`/api/v1/letters/${enc(id)}/story`, { topics: ['letters', 'operations'], every: 5000 });
  const value = useValue(id);
  const asking = useSignal<'discard' | 'edit' | null>(null);
  const one = letter.data;
  useTitle(one ? `Letter ${bytesText(one.origin.key)}` : 'Letter');
  useCli(`bartleby letters show ${id}`);
  const text = value.loaded?.whole ? value.loaded.text : null;
  const editable = text !== null && parseTree(text) !== null;
  const replay = () => one && one.state === 'open' && void replayOne(one, null, '').then(letter.refresh);
  useKeys(
    one
      ? [
          { key: 'r', does: 'replay', run: replay },
          {
            key: 'e',
            does: 'edit and replay…',
            run: () => editable && one.state === 'open' && (asking.value = 'edit'),
          },
          { key: 'd', does: 'discard…', run: () => one.state === 'open' && (asking.value = 'discard') },
          { key: 'u', does: 'undo the discard', run: () => one.state === 'discarded' && void restoreOne(id) },
        ]
      : [],
    [one?.state, editable],
  );
  if (!one)
    return (
      <>
        <Title>Letter</Title>
        <Waiting shown={letter} />
      </>
    );
  const undoable = one.state === 'discarded' && (!one.undo_until || Date.parse(one.undo_until) > now.value);
  return (
    <>
      {letter.problem && <Trouble problem={letter.problem} retry={letter.refresh} />}
      <Title
        stamp={<Stamp word={one.state} />}
        aside={
          <>
            <span class="mono">{id}</span>
            <Copy text={id} what="Copy the id" />
          </>
        }
      >
        {errorText(one)}
      </Title>
      <div class="bar" role="toolbar" aria-label="With this letter">
        <Act kind="main" run={replay} why={whyNot(one.state, 'open') || lacks('replay')}>
          Replay
        </Act>
        {one.state === 'open' && (
          <Act
            run={() => (asking.value = 'edit')}
            why={lacks('replay') || (value.loaded && !editable && 'only a whole JSON value can be edited here')}
          >
            Edit and replay…
          </Act>
        )}
        {one.state === 'open' && (
          <Act run={() => (asking.value = 'discard')} why={lacks('discard')}>
            Discard…
          </Act>
        )}
        {undoable && <Act run={() => void restoreOne(id)}>Undo the discard</Act>}
      </div>
      <div class="columns">
        <div>
          <Section title="Value">
            <Payload id={id} value={value} />
          </Section>
          <Section title="Error" aside={<Stamp word={one.error.kind ?? 'unknown'} tone="quiet" />}>
            <p class="error-message">{visible(one.error.message ?? '–', true)}</p>
            {one.error.stack && (
              <pre class="bytes text" tabIndex={0}>
                {visible(one.error.stack, true)}
              </pre>
            )}
          </Section>
          <Section title="Headers">
            <Headers headers={one.origin.headers ?? []} />
          </Section>
        </div>
        <div>
          <Section title="Where it was">
            <Facts
              rows={[
                ['key', <span class="mono wrap">{bytesText(one.origin.key)}</span>],
                ['origin', <span class="mono">{originText(one)}</span>],
                [
                  'letter in',
                  <span class="mono">{`${visible(one.dlq.topic)}/${one.dlq.partition} @ ${one.dlq.offset}`}</span>,
                ],
                ['worker', one.worker ? <a href={to.worker(one.worker)}>{visible(one.worker)}</a> : '–'],
                ['group', visible(one.group || '–')],
                ['instance', visible(one.instance || '–')],
                ['reason', one.reason],
                [
                  'issue',
                  one.issue ? (
                    <a class="mono" href={to.issue(one.issue)}>
                      {one.issue}
                    </a>
                  ) : (
                    '–'
                  ),
                ],
                ['written', one.origin.timestamp ? <Age time={one.origin.timestamp} /> : '–'],
                ['died', <Age time={one.last_failure_at} />],
                ['size', size(one.origin.size)],
                ['dialect', one.dialect],
                ...(one.resolution
                  ? ([
                      [
                        'resolution',
                        `${one.resolution.how} by ${visible(one.resolution.by)}${
                          one.resolution.reason ? `: ${visible(one.resolution.reason)}` : ''
                        }`,
                      ],
                    ] as [string, string][])
                  : []),
                ...(one.undo_until ? ([['undo until', moment(one.undo_until)]] as [string, string][]) : []),
                ...(one.expires_at ? ([['kept until', moment(one.expires_at)]] as [string, string][]) : []),
              ]}
            />
          </Section>
          <Section title="Lives">
            {story.data ? <Lives letter={one} story={story.data} /> : <Waiting shown={story} />}
          </Section>
          <Section title="Audit">
            {story.data ? <AuditLines lines={story.data.audit} /> : <Waiting shown={story} />}
          </Section>
        </div>
      </div>
      {story.data && story.data.other_groups.length > 0 && (
        <Section title="The same message in other groups">
          <LetterTable letters={story.data.other_groups} label="The same message in other groups" />
        </Section>
      )}
      {story.data && story.data.same_key.length > 0 && (
        <Section
          title="Other letters of its key"
          aside={
            typeof one.origin.key === 'string' && <a href={to.letters(term('key', one.origin.key))}>all of this key</a>
          }
        >
          <LetterTable letters={story.data.same_key} label="Other letters of its key" />
        </Section>
      )}
      {asking.value === 'discard' && (
        <Ask
          title="Discard this letter?"
          verb="Discard 1 letter"
          danger
          close={() => (asking.value = null)}
          run={(reason) => void discardOne(id, reason).then(letter.refresh)}
        >
          <p>It is not sent again and leaves the open ones. It can be undone for a while.</p>
        </Ask>
      )}
      {asking.value === 'edit' && text !== null && (
        <EditAndReplay
          text={text}
          close={() => (asking.value = null)}
          send={(patch, reason) => void replayOne(one, patch, reason).then(letter.refresh)}
        />
      )}
    </>
  );
}

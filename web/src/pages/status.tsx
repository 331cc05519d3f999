// Is Bartleby itself well?
import { useSignal } from '@preact/signals';
import { api } from '../api/client';
import type { Dlq, Health, Page, Verdict } from '../api/types';
import { useShown } from '../app/data';
import { caller } from '../app/facts';
import { count, plural, visible } from '../app/format';
import { liveWord } from '../app/live';
import { attempt } from '../app/say';
import { Keys } from '../parts/keys';
import { Act, Facts, Section, Stamp, Title, Waiting, useCli, useTitle } from '../parts/bits';

interface Check {
  name: string;
  word: 'ok' | 'warn' | 'fail';
  detail: string;
}

const words: Record<string, Check['word']> = { UP: 'ok', DEGRADED: 'warn', DOWN: 'fail' };
const abouts: Record<string, string> = {
  broker: 'takes records and answers',
  counters: 'heartbeats and counters are kept',
  workers: 'all of them report',
};

function checks(health: Health, dlqs: Dlq[] | undefined): Check[] {
  const list: Check[] = [];
  for (const [name, component] of Object.entries(health.components ?? {})) {
    const details = (component.details ?? {}) as Record<string, unknown>;
    let detail = typeof details.error === 'string' ? details.error : (abouts[name] ?? '');
    if (name === 'workers') {
      const missing = Array.isArray(details.missing) ? details.missing.map(String) : [];
      detail =
        missing.length > 0
          ? `not running or silent: ${missing.join(', ')}`
          : `${String(details.reporting)} of ${String(details.expected)} report`;
    }
    if (name === 'lag') {
      const groups = Object.entries(component.components ?? {});
      detail =
        groups
          .map(([group, one]) => {
            const facts = (one as { details?: Record<string, unknown> }).details ?? {};
            return `${group}: ${String(facts.effective ?? 0)}`;
          })
          .join(', ') || 'no group';
    }
    if (name === 'sinks')
      detail = Object.entries(component.components ?? {})
        .map(([sink, one]) => {
          const facts = (one as { details?: Record<string, unknown> }).details ?? {};
          const refused = Number(facts.refused ?? 0) > 0 ? `, ${String(facts.refused)} refused` : '';
          const error = typeof facts.error === 'string' ? ` (${facts.error})` : '';
          return `${sink}: ${String(facts.waiting ?? 0)} waiting${refused}${error}`;
        })
        .join(', ');
    list.push({ name, word: words[component.status] ?? 'warn', detail });
  }
  if (dlqs) {
    const behind = dlqs.reduce((sum, one) => sum + one.intake_lag, 0);
    const missed = dlqs.reduce((sum, one) => sum + one.missed, 0);
    list.push({
      name: 'intake',
      word: missed > 0 ? 'fail' : behind > 1000 ? 'warn' : 'ok',
      detail:
        missed > 0
          ? `${plural(missed, 'record')} were deleted before they were read`
          : behind > 0
            ? `${plural(behind, 'record')} of dlqs not read yet`
            : 'every record of every dlq is read',
    });
  }
  return list;
}

export function Status() {
  useTitle('Status');
  useCli('bartleby api GET /actuator/health');
  const health = useShown<Health>('/actuator/health', { every: 3000 });
  const dlqs = useShown<Page<Dlq>>('/api/v1/dlqs', { topics: ['letters'], every: 5000 });
  const verdict = useSignal<Verdict | 'looking' | null>(null);
  const verify = () =>
    void attempt(async () => {
      verdict.value = 'looking';
      try {
        verdict.value = await api<Verdict>('/api/v1/audit:verify');
      } catch (error) {
        verdict.value = null;
        throw error;
      }
    });
  const found = verdict.value;
  return (
    <>
      <Title stamp={health.data && <Stamp word={health.data.status} />}>Status</Title>
      {!health.data && <Waiting shown={health} />}
      {health.data && (
        <table class="plain checks" aria-label="Self-checks">
          <thead>
            <tr>
              <th scope="col">Check</th>
              <th scope="col">Result</th>
              <th scope="col">Detail</th>
            </tr>
          </thead>
          <tbody>
            {checks(health.data, dlqs.data?.items).map((check) => (
              <tr key={check.name}>
                <th scope="row">{check.name}</th>
                <td>
                  <Stamp word={check.word} />
                </td>
                <td class="wrap">{visible(check.detail)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Section title="Audit">
        <p class="bar">
          <Act run={verify} why={found === 'looking' && 'it is being read'}>
            Verify every line
          </Act>
          {found !== null && found !== 'looking' && (
            <span role="status">
              <Stamp word={found.good ? 'ok' : 'fail'} />{' '}
              {found.good
                ? `${count(found.lines)} lines, each follows from the one before it`
                : `line ${found.bad_line}: ${found.problem}`}
            </span>
          )}
        </p>
      </Section>
      <Keys />
      <Section title="This server">
        <Facts
          rows={[
            ['version', caller.value?.server.version ?? '–'],
            ['cluster', visible(caller.value?.server.cluster ?? '–')],
            ['this page', liveWord.value],
            [
              'API',
              <a href="/openapi.json" target="_blank" rel="noopener">
                openapi.json
              </a>,
            ],
            [
              'inside',
              <a href="/ui/licenses.txt" target="_blank" rel="noopener">
                licenses
              </a>,
            ],
            [
              'metrics',
              <a href="/metrics" target="_blank" rel="noopener">
                metrics
              </a>,
            ],
          ]}
        />
      </Section>
    </>
  );
}

// Is Bartleby itself well?
import { useSignal } from '@preact/signals';
import { api } from '../api/client';
import type { ConfigLines, SelfChecks, Verdict } from '../api/types';
import { useShown } from '../app/data';
import { caller } from '../app/facts';
import { count, visible } from '../app/format';
import { liveWord } from '../app/live';
import { attempt } from '../app/say';
import { Keys } from '../parts/keys';
import { Act, Facts, Section, Stamp, Title, Waiting, useCli, useTitle } from '../parts/bits';

// As `bartleby config show` prints it: where each value came from stands beside it.
function configText({ lines }: ConfigLines): string {
  const beside = lines.filter((line) => line.from && line.text.length <= 60);
  const column = Math.max(0, ...beside.map((line) => line.text.length));
  return lines
    .map((line) => visible(line.from ? `${line.text.padEnd(column)}  # ${line.from}` : line.text))
    .join('\n');
}

export function Status() {
  useTitle('Status');
  useCli('bartleby status');
  const status = useShown<SelfChecks>('/api/v1/status', { every: 3000 });
  const config = useShown<ConfigLines>('/api/v1/config', { every: 60000 });
  const verdict = useSignal<Verdict | 'looking' | null>(null);
  const verify = () =>
    void attempt(async () => {
      verdict.value = 'looking';
      try {
        let found = await api<Verdict>('/api/v1/audit:verify');
        while (found.next !== undefined) found = await api<Verdict>(`/api/v1/audit:verify?from=${found.next}`);
        verdict.value = found;
      } catch (error) {
        verdict.value = null;
        throw error;
      }
    });
  const found = verdict.value;
  return (
    <>
      <Title stamp={status.data && <Stamp word={status.data.status} />}>Status</Title>
      {!status.data && <Waiting shown={status} />}
      {status.data && (
        <table class="plain checks" aria-label="Self-checks">
          <thead>
            <tr>
              <th scope="col">Check</th>
              <th scope="col">Result</th>
              <th scope="col">Detail</th>
            </tr>
          </thead>
          <tbody>
            {status.data.checks.map((check) => (
              <tr key={check.name}>
                <th scope="row">{check.name}</th>
                <td>
                  <Stamp word={check.status} />
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
      <Section title="Configuration">
        {!config.data && <Waiting shown={config} />}
        {config.data && (
          <>
            <p>
              What holds now, read-only; secrets are not shown. <code>bartleby config show</code> prints the same of a
              file.
            </p>
            <pre class="config" role="region" aria-label="Keys and values" tabIndex={0}>
              {configText(config.data)}
            </pre>
          </>
        )}
      </Section>
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

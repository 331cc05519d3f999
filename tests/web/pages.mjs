// What people do on the pages that needs no operation.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Bartleby, Endpoint, letterRecord, openPage, until, worker } from './support.mjs';

export const refusing = ({ key }) =>
  key.startsWith('good')
    ? null
    : { status: 422, type: `Bad${key.split('-')[0]}`, title: 'refused', detail: `for ${key}` };

// Runs `work` with a server whose worker `orders` asks the rule.
export async function withOffice({ program, browser }, rule, work, more = {}) {
  const endpoint = await new Endpoint(rule).start();
  const config = { workers: { orders: worker('orders', endpoint.url, more.worker ?? {}) }, ...more.config };
  const bartleby = await new Bartleby(program, config).start();
  const opened = [];
  const open = async (path, options) => {
    const one = await openPage(browser, bartleby.url + path, options);
    opened.push(one);
    return one;
  };
  try {
    const said = await work({ bartleby, endpoint, open });
    for (const one of opened) assert.deepEqual(await one.wrong(), []);
    return said;
  } finally {
    for (const one of opened) await one.close();
    endpoint.stop();
    await bartleby.end();
  }
}

export const send = (bartleby, ...keys) =>
  bartleby.sendAll(
    'orders',
    keys.map((key) => ({ key, value: JSON.stringify({ id: key, status: 'new', n: 1 }) })),
  );

// Another process that has the office's store for itself, until its input ends.
async function holdStore(folder) {
  const hold = [
    'import sqlite3, sys',
    'store = sqlite3.connect(sys.argv[1], isolation_level=None)',
    'store.execute("BEGIN IMMEDIATE")',
    'print("held", flush=True)',
    'sys.stdin.read()',
  ];
  const words = ['-c', hold.join('\n'), join(folder, 'data', 'office.db')];
  const holder = spawn('python3', words, { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  return holder;
}

export const checks = [
  {
    name: 'a_letter_appears_without_reload',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        const { page } = await open('/letters');
        await page.getByText('There are no letters.').waitFor();
        await page.evaluate(() => (window.same = true));
        await send(bartleby, 'red-1');
        await page.getByRole('link', { name: 'red-1' }).waitFor();
        await page.goto(`${bartleby.url}/`);
        await page.evaluate(() => (window.same = true));
        await send(bartleby, 'blue-1');
        await page.getByRole('link', { name: 'Badblue' }).waitFor();
        assert.ok(await page.evaluate(() => window.same));
      }),
  },
  {
    name: 'the_inbox_says_that_the_server_is_down_and_why',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        const { page } = await open('/');
        await page.getByText('Nothing has died here yet.').waitFor();
        const held = await holdStore(bartleby.folder);
        await page.getByText('The server cannot do its work').waitFor();
        await page.getByText(/database is locked/).waitFor();
        held.stdin.end();
        await page.getByText('The server cannot do its work').waitFor({ state: 'detached' });
      }),
  },
  {
    name: 'nothing_moves_while_it_is_paused',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        const { page } = await open('/letters');
        await page.getByRole('button', { name: 'live' }).click();
        await send(bartleby, 'red-1');
        await bartleby.untilLetters(1);
        await page.getByText(/paused, \d+ missed/).waitFor();
        assert.equal(await page.getByRole('link', { name: 'red-1' }).count(), 0);
        await page.keyboard.press('p');
        await page.getByRole('link', { name: 'red-1' }).waitFor();
      }),
  },
  {
    name: 'a_letter_is_found_by_search',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        await send(bartleby, 'red-1', 'blue-1', 'blue-2');
        await bartleby.untilLetters(3);
        const { page } = await open('/');
        await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
        await page.keyboard.press('/');
        await page.keyboard.type('wor');
        await page.getByRole('option', { name: 'worker:' }).waitFor();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.getByRole('option', { name: 'worker:orders' }).waitFor();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.keyboard.type('error:Badblue');
        await page.keyboard.press('Enter');
        await page.getByText('2 letters').waitFor();
        assert.equal(await page.getByRole('link', { name: 'red-1' }).count(), 0);
        assert.match(page.url(), /letters\?q=worker%3Aorders%20error%3ABadblue/);
        // The address alone shows the same to a colleague.
        const other = await open(page.url().slice(bartleby.url.length));
        await other.page.getByText('2 letters').waitFor();
        assert.equal(await other.page.getByRole('combobox').inputValue(), 'worker:orders error:Badblue');
      }),
  },
  {
    name: 'the_query_box_offers_what_there_is',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        const { page } = await open('/letters');
        await send(bartleby, 'red-1', 'red-2', 'blue-1');
        await page.getByRole('link', { name: 'blue-1' }).waitFor();
        const box = page.getByRole('combobox', { name: 'Search letters' });
        await box.fill('state:open error:Badr');
        const option = page.getByRole('option', { name: 'error:Badred' });
        await option.waitFor();
        assert.match(await option.textContent(), /2 open letters/);
        await option.dispatchEvent('mousedown');
        assert.equal(await box.inputValue(), 'state:open error:Badred ');
        await box.press('Enter');
        await page.getByText('2 letters').waitFor();
        await page.getByRole('link', { name: 'blue-1' }).waitFor({ state: 'detached' });
        assert.equal(await page.getByRole('link', { name: /^red-/ }).count(), 2);
      }),
  },
  {
    name: 'the_page_status_shows_checks_and_configuration',
    run: (given) =>
      withOffice(given, refusing, async ({ open }) => {
        const { page } = await open('/status');
        await page.getByRole('row', { name: 'store ok takes writes and answers' }).waitFor();
        await page.getByRole('row', { name: /^counts ok/ }).waitFor();
        const config = page.getByRole('region', { name: 'Keys and values' });
        await config.waitFor();
        const text = await config.textContent();
        assert.match(text, /keep: 90d +# default/);
        assert.match(text, /orders:/);
        // An audit that takes three answers is asked for to its end.
        const asked = [];
        await page.route('**/api/v1/audit:verify*', (route) => {
          const from = Number(new URL(route.request().url()).searchParams.get('from') ?? 1);
          asked.push(from);
          const more = from < 100000 ? { lines: from + 49999, next: from + 50000 } : { lines: 120000 };
          return route.fulfill({ json: { good: true, ...more } });
        });
        await page.getByRole('button', { name: 'Verify every line' }).click();
        await page.getByText('120\u202f000 lines, each follows from the one before it').waitFor();
        assert.deepEqual(asked, [1, 50001, 100001]);
      }),
  },
  {
    name: 'a_wrong_query_is_marked_at_its_character',
    run: (given) =>
      withOffice(given, refusing, async ({ open }) => {
        const { page } = await open('/letters?q=state%3Aopen+wrong%3Ax');
        const alert = page.getByRole('alert');
        await alert.waitFor();
        assert.equal(await alert.locator('mark').textContent(), 'w');
        assert.equal(await page.getByRole('combobox').getAttribute('aria-invalid'), 'true');
      }),
  },
  {
    name: 'a_letter_tells_its_story',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        await bartleby.sendAll('orders', [
          {
            key: 'red-7',
            value: '{"id": 9007199254740993, "deep": {"list": [1.10, 1e400, -0]}}',
            headers: [['trace', 'abc']],
          },
          { key: 'red-7', value: '{"id": 2}' },
        ]);
        await bartleby.untilLetters(2);
        const { page } = await open('/letters');
        await page.getByRole('link', { name: 'red-7' }).last().click();
        await page.getByRole('heading', { level: 1, name: 'Badred: refused: for red-7' }).waitFor();
        for (const exact of ['9007199254740993', '1.10', '1e400', '-0'])
          await page.locator('.j-number', { hasText: exact }).first().waitFor();
        await page.getByRole('button', { name: 'hex' }).click();
        await page.getByText('7b 22 69 64').waitFor();
        assert.match(page.url(), /view=hex/);
        await page.getByRole('row', { name: 'trace abc' }).waitFor();
        await page.getByText('First life').waitFor();
        await page.getByRole('heading', { name: 'Other letters of its key' }).waitFor();
        const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('download').click()]);
        assert.match(download.suggestedFilename(), /^ltr_.*\.bin$/);
      }),
  },
  {
    name: 'a_parked_message_is_explained_and_run_now',
    run: (given) => {
      let heal = false;
      const rule = () => (heal ? null : { status: 503, type: 'Away', title: 'away', detail: 'later' });
      return withOffice(
        given,
        rule,
        async ({ bartleby, open }) => {
          await send(bartleby, 'slow-1');
          const { page } = await open('/workers/orders');
          await page.getByRole('rowheader', { name: '0:0' }).waitFor();
          await page.getByRole('button', { name: 'Explain 0:0' }).click();
          await page.getByText(/offset 0 waits for attempt 2 of 6/).waitFor();
          assert.match(page.url(), /at=0%3A0/);
          heal = true;
          await page.getByRole('button', { name: 'Run now: 0:0' }).click();
          await page.getByText('1 message run now.').waitFor();
          await page.getByText('No message waits for another attempt.').waitFor();
          await until(
            'the message to be handled',
            async () => (await bartleby.get('/api/v1/workers/orders')).parked === 0,
          );
          assert.equal((await bartleby.letters()).count.value, 0);
        },
        { worker: { retry: { max_attempts: 6, schedule: ['1h'] } } },
      );
    },
  },
  {
    name: 'a_parked_message_is_given_up',
    run: (given) =>
      withOffice(
        given,
        () => ({ status: 503, type: 'Away', title: 'away', detail: 'later' }),
        async ({ bartleby, open }) => {
          await send(bartleby, 'slow-1', 'slow-2');
          const { page } = await open('/workers/orders');
          await page.getByRole('button', { name: 'Give up… 0:1' }).click();
          await page.getByRole('button', { name: 'Give 1 message up' }).click();
          await page.getByText('1 message given up: they become letters.').waitFor();
          await bartleby.untilLetters(1, 'reason:GIVEN_UP');
          await page.getByRole('rowheader', { name: '0:1' }).waitFor({ state: 'detached' });
          assert.equal(await page.getByRole('rowheader', { name: '0:0' }).count(), 1, 'the other one waits');
        },
        { worker: { retry: { max_attempts: 6, schedule: ['1h'] } } },
      ),
  },
  {
    name: 'two_tabs_show_the_same',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        await send(bartleby, 'red-1');
        await bartleby.untilLetters(1);
        const [a, b] = [await open('/'), await open('/')];
        await b.page.getByRole('link', { name: 'Badred' }).waitFor();
        await a.page.getByRole('link', { name: 'Badred' }).click();
        await a.page.getByRole('button', { name: 'Resolve…' }).click();
        await a.page.getByLabel('Reason, for the audit').fill('told the sender');
        await a.page.getByRole('button', { name: 'Resolve', exact: true }).click();
        await a.page.getByText('Resolved. Another letter').waitFor();
        await b.page.getByText('Nothing needs you.').waitFor();
        await send(bartleby, 'red-2');
        await b.page.getByText('regressed').waitFor();
        await a.page.getByText('regressed', { exact: true }).waitFor();
        await b.page.goto(`${bartleby.url}/activity`);
        await b.page.getByRole('cell', { name: 'told the sender' }).waitFor();
      }),
  },
  {
    name: 'a_server_that_comes_back_is_followed_again',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        await send(bartleby, 'red-1');
        await bartleby.untilLetters(1);
        const { page } = await open('/letters');
        await page.getByRole('link', { name: 'red-1' }).waitFor();
        await page.evaluate(() => (window.same = true));
        await bartleby.stop();
        await page.getByText('No connection to the server.').waitFor();
        assert.equal(await page.getByRole('link', { name: 'red-1' }).count(), 1, 'what was there stays');
        await bartleby.start();
        await page.getByText('No connection to the server.').waitFor({ state: 'detached' });
        await send(bartleby, 'red-2');
        await page.getByRole('link', { name: 'red-2' }).waitFor();
        assert.ok(await page.evaluate(() => window.same));
      }),
  },
  {
    name: 'rows_far_down_a_page_are_where_one_looks',
    run: (given) =>
      withOffice(given, refusing, async ({ bartleby, open }) => {
        const alike = { value: '{}', type: 'Alike', message: 'x' };
        const one = (i) => letterRecord({ ...alike, key: `k-${i}`, at: Date.now() - i * 1000 });
        await bartleby.sendAll(
          'far.dlq',
          Array.from({ length: 300 }, (_, i) => one(i)),
        );
        await bartleby.untilLetters(300);
        const [issue] = (await bartleby.get('/api/v1/issues')).items;
        const { page } = await open(`/issues/${issue.id}`, { viewport: { width: 1280, height: 500 } });
        await page.locator('table.data').waitFor();
        await page.evaluate(() => document.querySelector('table.data').scrollIntoView());
        await page.getByRole('link', { name: 'k-2', exact: true }).waitFor();
        for (let i = 0; i < 40; ++i) await page.keyboard.press('j');
        const link = page.getByRole('link', { name: 'k-39', exact: true });
        await until('the focus on the 40th row', () => link.evaluate((it) => it === document.activeElement));
        const place = await link.evaluate((it) => it.getBoundingClientRect().top);
        assert.ok(place > 128 && place < 460, `the row with the focus is at ${place} px, under a bar`);
        // Away with the window: the row with the focus stays, so the focus does.
        // The page grows at its end as rows come.
        await until('the last rows', async () => {
          await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
          return page.getByRole('link', { name: 'k-290', exact: true }).isVisible();
        });
        assert.ok(await link.evaluate((it) => it === document.activeElement));
      }),
  },
  {
    name: 'keys_are_listed_and_lead_everywhere',
    run: (given) =>
      withOffice(given, refusing, async ({ open }) => {
        const { page } = await open('/');
        await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
        await page.keyboard.press('?');
        await page.getByRole('dialog', { name: 'Keys' }).waitFor();
        await page.keyboard.press('Escape');
        for (const [key, title] of [
          ['l', 'Letters'],
          ['w', 'Workers'],
          ['d', 'DLQs'],
          ['a', 'Activity'],
          ['s', 'Status'],
          ['i', 'Inbox'],
        ]) {
          const heading = page.getByRole('heading', { level: 1, name: title });
          // Two keys are a pair when they come within a second or so, which a busy machine may miss.
          await until(`${title} by its keys`, async () => {
            await Promise.all([page.keyboard.press('g'), page.keyboard.press(key)]);
            return heading.waitFor({ timeout: 10000 }).then(
              () => true,
              () => false,
            );
          });
          await until(`the focus at ${title}`, () => heading.evaluate((one) => one === document.activeElement));
        }
      }),
  },
];

// Replays, discards and edits, as somebody does them on the pages.
import assert from 'node:assert/strict';
import { until } from './support.mjs';
import { withOffice } from './pages.mjs';

const send = (bartleby, count, value = { status: 'PAYED', amount: 1 }) =>
  bartleby.sendAll(
    'orders',
    Array.from({ length: count }, (_, i) => ({ key: `k-${i}`, value: JSON.stringify({ id: i, ...value }) })),
  );

const refused = { status: 422, type: 'InvalidEnum', title: 'unknown status', detail: 'PAYED' };

async function openIssue(bartleby, open) {
  const { page } = await open('/');
  await page.getByRole('link', { name: 'InvalidEnum' }).click();
  await page.getByRole('heading', { level: 1, name: 'InvalidEnum' }).waitFor();
  return page;
}

const stamped = (page, word) => page.locator('.title .stamp', { hasText: new RegExp(`^${word}$`) }).waitFor();

export const checks = [
  {
    name: 'an_issue_is_replayed_with_a_canary',
    run: (given) =>
      withOffice(
        given,
        ({ replay }) => (replay ? null : refused),
        async ({ bartleby, open }) => {
          await send(bartleby, 25);
          await bartleby.untilLetters(25);
          const page = await openIssue(bartleby, open);
          const issue = page.url();
          await page.getByRole('button', { name: 'Replay 25 open letters…' }).click();
          await page
            .getByText(/25 letters/)
            .first()
            .waitFor();
          await page.getByText(/First a canary of 10/).waitFor();
          assert.equal((await bartleby.letters('state:open')).count.value, 25, 'a plan sends nothing');
          await page.getByRole('button', { name: 'Start: replay 25 letters' }).click();
          await stamped(page, 'done');
          await page.getByText('25 succeeded').waitFor();
          assert.equal((await bartleby.letters('state:resolved')).count.value, 25);
          // The issue's day has a mark where it began.
          const operation = new URL(page.url()).pathname;
          await page.goto(issue);
          const mark = page.getByRole('list', { name: 'Replays' }).getByRole('link', { name: /^replay of 25 letters/ });
          assert.equal(await mark.getAttribute('href'), operation);
        },
      ),
  },
  {
    name: 'a_replay_that_fails_again_halts_and_says_why',
    run: (given) =>
      withOffice(
        given,
        () => refused,
        async ({ bartleby, open }) => {
          await send(bartleby, 25);
          await bartleby.untilLetters(25);
          const page = await openIssue(bartleby, open);
          await page.getByRole('button', { name: 'Replay 25 open letters…' }).click();
          await page.getByRole('button', { name: 'Start: replay 25 letters' }).click();
          await stamped(page, 'halted');
          await page.getByRole('alert').getByText('It halted by itself').waitFor();
          await page.getByText('10 came back').first().waitFor();
          await page.getByRole('link', { name: 'Inbox' }).click();
          await page.locator('.in-row', { hasText: 'replay of 25 letters' }).getByText('halted').waitFor();
          assert.equal((await bartleby.letters('state:open')).count.value, 25, 'what was not sent is still open');
        },
      ),
  },
  {
    name: 'a_letter_is_discarded_and_the_discard_undone',
    run: (given) =>
      withOffice(
        given,
        () => refused,
        async ({ bartleby, open }) => {
          await send(bartleby, 1);
          await bartleby.untilLetters(1);
          const { page } = await open('/letters');
          await page.getByRole('link', { name: 'k-0' }).click();
          await page.getByRole('button', { name: 'Discard…' }).click();
          await page.getByLabel('Reason, for the audit').fill('a test order');
          await page.getByRole('button', { name: 'Discard 1 letter' }).click();
          await stamped(page, 'discarded');
          await page.getByRole('button', { name: 'Undo', exact: true }).click();
          await stamped(page, 'open');
          await page.getByText('a test order').first().waitFor();
          // The same from the list of what was done: only what still holds can be undone.
          await page.getByRole('button', { name: 'Discard…' }).click();
          await page.getByRole('button', { name: 'Discard 1 letter' }).click();
          await stamped(page, 'discarded');
          await page.getByRole('link', { name: 'Activity' }).click();
          const undo = page.getByRole('table', { name: 'Audit' }).getByRole('button', { name: 'undo' });
          await until('one undo, of the last line', async () => (await undo.count()) === 1);
          await undo.click();
          await page.getByText('Restored: the letter is open again.').first().waitFor();
          assert.equal((await bartleby.letters('state:open')).count.value, 1);
        },
      ),
  },
  {
    name: 'a_selection_is_discarded_by_a_plan',
    run: (given) =>
      withOffice(
        given,
        () => refused,
        async ({ bartleby, open }) => {
          await send(bartleby, 6);
          await bartleby.untilLetters(6);
          const { page } = await open('/letters?q=state%3Aopen');
          await page.getByLabel('Select letter k-1').click();
          await page.getByLabel('Select letter k-4').click({ modifiers: ['Shift'] });
          await page.getByRole('button', { name: 'Replay 4 letters…' }).waitFor();
          await page.keyboard.press('d');
          await page.getByRole('button', { name: 'Start: discard 4 letters' }).click();
          await stamped(page, 'done');
          assert.equal((await bartleby.letters('state:discarded')).count.value, 4);
          await page.getByRole('button', { name: 'Undo: restore 4 letters…' }).click();
          await page.getByRole('button', { name: 'Start: restore 4 letters' }).click();
          await stamped(page, 'done');
          assert.equal((await bartleby.letters('state:open')).count.value, 6);
        },
      ),
  },
  {
    name: 'a_selection_of_an_issue_is_replayed_alone',
    run: (given) =>
      withOffice(
        given,
        ({ replay }) => (replay ? null : refused),
        async ({ bartleby, open }) => {
          await send(bartleby, 5);
          await bartleby.untilLetters(5);
          const page = await openIssue(bartleby, open);
          await page.getByLabel('Select letter k-1').click();
          await page.getByLabel('Select letter k-3').click();
          await page.getByRole('button', { name: 'Replay 2 selected letters…' }).click();
          await page.getByRole('button', { name: 'Start: replay 2 letters' }).click();
          await stamped(page, 'done');
          assert.equal((await bartleby.letters('state:resolved')).count.value, 2);
          assert.equal((await bartleby.letters('state:open')).count.value, 3);
        },
      ),
  },
  {
    name: 'a_purge_wants_its_number_typed',
    run: (given) =>
      withOffice(
        given,
        () => refused,
        async ({ bartleby, open }) => {
          await send(bartleby, 4);
          await bartleby.untilLetters(4);
          const { page } = await open('/letters');
          for (const key of ['k-0', 'k-1', 'k-2']) await page.getByLabel(`Select letter ${key}`).click();
          await page.getByRole('button', { name: 'Purge…' }).click();
          await page.getByText('3 letters will be deleted for ever.').waitFor();
          const id = new URL(page.url()).pathname.split('/')[2];
          const state = async () => (await bartleby.get(`/api/v1/operations/${id}`)).state;
          await page.getByRole('button', { name: 'Start: purge 3 letters…' }).click();
          const dialog = page.getByRole('dialog', { name: 'Purge 3 letters?' });
          await dialog.getByText('3 letters of orders.dlq').waitFor();
          for (const typed of ['', '4']) {
            await dialog.getByRole('textbox').fill(typed);
            await dialog.getByRole('textbox').press('Enter');
            assert.equal(await dialog.count(), 1, 'it still asks');
          }
          assert.equal(await state(), 'planned');
          await dialog.getByRole('textbox').fill('3');
          await dialog.getByRole('button', { name: 'Purge 3 letters' }).click();
          await stamped(page, 'done');
          const left = (await bartleby.letters()).items.map((one) => one.origin.key);
          assert.deepEqual(left, ['k-3']);
        },
      ),
  },
  {
    name: 'an_edit_is_previewed_and_replayed',
    run: (given) =>
      withOffice(
        given,
        ({ value }) => (JSON.parse(value).status === 'paid' ? null : refused),
        async ({ bartleby, endpoint, open }) => {
          await bartleby.sendAll('orders', [{ key: 'k-0', value: '{"id": 9007199254740993, "status": "PAYED"}' }]);
          await bartleby.untilLetters(1);
          const { page } = await open('/letters');
          await page.getByRole('link', { name: 'k-0' }).click();
          await page.getByRole('button', { name: 'Edit and replay…' }).click();
          const dialog = page.getByRole('dialog', { name: 'Edit and replay' });
          const box = dialog.getByRole('textbox').first();
          const text = await box.inputValue();
          await box.fill('{"half"');
          await dialog.getByText('this is not JSON').first().waitFor();
          await box.fill(text.replace('PAYED', 'paid'));
          await dialog.locator('del', { hasText: '"PAYED"' }).waitFor();
          await dialog.locator('ins', { hasText: '"paid"' }).waitFor();
          assert.equal(await dialog.locator('.steps li').count(), 1, 'no digit of the number is touched');
          await dialog.getByRole('button', { name: 'Replay as edited' }).click();
          await stamped(page, 'resolved');
          const sent = endpoint.seen.at(-1).value;
          assert.ok(sent.includes('9007199254740993') && sent.includes('"paid"'), sent);
        },
      ),
  },
  {
    name: 'from_the_inbox_to_a_finished_replay_by_keys_alone',
    run: (given) =>
      withOffice(
        given,
        ({ replay }) => (replay ? null : refused),
        async ({ bartleby, open }) => {
          await send(bartleby, 3);
          await bartleby.untilLetters(3);
          const { page } = await open('/');
          await page.locator('.in-row').first().waitFor();
          await page.keyboard.press('o');
          await page.getByRole('heading', { level: 1, name: 'InvalidEnum' }).waitFor();
          await page.getByRole('button', { name: /^Replay 3 open/ }).waitFor();
          await page.keyboard.press('r');
          await page.getByRole('button', { name: 'Start: replay 3 letters' }).waitFor();
          await page.keyboard.press('s');
          await stamped(page, 'done');
          await until('all to be resolved', async () => (await bartleby.letters('state:resolved')).count.value === 3);
          // The letters of the operation, without a pointer.
          await page.keyboard.press('j');
          await page.keyboard.press('Enter');
          await stamped(page, 'resolved');
        },
      ),
  },
];

// Sessions, at a server that knows its callers by keys: opened with one, ended under an open page, opened again.
import assert from 'node:assert/strict';
import { refusing, send, withOffice } from './pages.mjs';

const withKeys = (given, work) => withOffice(given, refusing, work, { config: { auth: { keys: 'store' } } });
const newKey = (bartleby, name, role) => bartleby.call('POST', '/api/v1/keys', { name, role });
const here = (page, name) => page.locator('.who', { hasText: name }).waitFor();
const asked = (page) => page.getByText('The session is over, or there was none.').waitFor();

async function signIn(page, key) {
  await page.getByLabel('Key').fill(key);
  await page.keyboard.press('Enter');
}

export const checks = [
  {
    name: 'a_session_that_ends_is_opened_again_where_it_was',
    run: (given) =>
      withKeys(given, async ({ bartleby, open }) => {
        const [ann, bob] = [await newKey(bartleby, 'ann', 'operator'), await newKey(bartleby, 'bob', 'operator')];
        await send(bartleby, 'red-1');
        await bartleby.untilLetters(1);
        const { page } = await open('/letters?q=worker%3Aorders');
        await asked(page);
        await signIn(page, 'bk_wrong');
        await page.getByText('This key is not good here.').waitFor();
        await signIn(page, ann.key);
        await here(page, 'ann');
        await page.getByRole('link', { name: 'red-1' }).click();
        await page.getByRole('button', { name: 'hex' }).click();
        await page.getByText('7b 22 69 64').waitFor();
        const place = page.url();
        await page.evaluate(() => (window.same = true));
        // Her key is revoked, and her session with it; nobody touches the page.
        await bartleby.call('DELETE', `/api/v1/keys/${ann.id}`);
        await asked(page);
        assert.equal(await page.getByText('7b 22 69 64').count(), 0, 'nothing is left to read');
        await signIn(page, ann.key);
        await page.getByText('This key is not good here.').waitFor();
        await signIn(page, bob.key);
        await page.getByText('7b 22 69 64').waitFor();
        await here(page, 'bob');
        assert.equal(page.url(), place);
        assert.ok(await page.evaluate(() => window.same), 'without a reload');
        // It is live again, and what is done is done by who is here now.
        await page.getByRole('button', { name: 'Discard…' }).click();
        await page.getByRole('button', { name: 'Discard 1 letter' }).click();
        await page.locator('.audit li', { hasText: 'bob' }).first().waitFor();
        await page.getByRole('link', { name: 'Letters', exact: true }).click();
        await send(bartleby, 'red-2');
        await page.getByRole('link', { name: 'red-2' }).waitFor();
      }),
  },
  {
    name: 'who_leaves_is_gone_from_every_tab',
    run: (given) =>
      withKeys(given, async ({ bartleby, open }) => {
        const carl = await newKey(bartleby, 'carl', 'viewer');
        await send(bartleby, 'red-1');
        await bartleby.untilLetters(1);
        const { page, context } = await open('/');
        await asked(page);
        await signIn(page, carl.key);
        await page.getByRole('link', { name: 'Badred' }).waitFor();
        const other = await context.newPage();
        await other.goto(`${bartleby.url}/`);
        await other.getByRole('link', { name: 'Badred' }).click();
        await other.locator('.act', { hasText: 'Replay 1 open letter…' }).getByText('no right to replay').waitFor();
        await page.getByRole('button', { name: 'leave' }).click();
        await asked(page);
        await asked(other);
        const [cookie] = await context.cookies();
        assert.equal(cookie, undefined, 'the browser has forgotten it');
      }),
  },
  {
    name: 'keys_are_made_and_revoked_on_the_page',
    run: (given) =>
      withKeys(given, async ({ bartleby, open }) => {
        const { page } = await open('/status');
        await asked(page);
        await signIn(page, bartleby.key);
        await page.getByRole('button', { name: 'New key…' }).click();
        await page.getByLabel('Whose it is').fill('dora');
        await page.getByRole('radio', { name: 'operator' }).check();
        await page.getByRole('button', { name: 'Make the key' }).click();
        const key = await page.getByRole('dialog', { name: 'The key of dora' }).locator('code').textContent();
        await page.getByRole('button', { name: 'I have it' }).click();
        await page.getByRole('row', { name: /dora.*good.*operator/ }).waitFor();
        const asDora = () => fetch(`${bartleby.url}/api/v1/session`, { headers: { Authorization: `Bearer ${key}` } });
        assert.equal((await (await asDora()).json()).actor, 'dora');
        await page.getByRole('button', { name: 'Revoke the key of dora' }).click();
        const dialog = page.getByRole('dialog', { name: 'Revoke the key of dora?' });
        const [reason, name] = [dialog.getByLabel('Reason, for the audit'), dialog.getByLabel('Type dora')];
        await name.press('Enter');
        assert.equal(await dialog.count(), 1, 'it still asks');
        await name.fill('dora');
        await reason.fill('ж'.repeat(501));
        await dialog.getByText('at most 1,000 bytes').waitFor();
        await reason.press('Enter');
        assert.equal(await dialog.count(), 1, 'too long a reason is not sent');
        await reason.fill('left & gone');
        await dialog.getByRole('button', { name: 'Revoke 1 key' }).click();
        await page.getByRole('row', { name: /dora.*revoked/ }).waitFor();
        assert.equal((await asDora()).status, 401);
        const headers = { Authorization: `Bearer ${bartleby.key}` };
        const audit = await fetch(`${bartleby.url}/api/v1/audit`, { headers });
        const line = (await audit.json()).items.find((one) => one.action.startsWith('revoke'));
        assert.equal(line.reason, 'left & gone');
      }),
  },
];

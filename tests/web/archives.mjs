// Letters whose time is over, at a server whose clock runs fast.
import assert from 'node:assert/strict';
import { Bartleby, letterRecord, openPage, until } from './support.mjs';

export const checks = [
  {
    name: 'an_archive_is_brought_back',
    hurried: true,
    run: async ({ hurried, browser }) => {
      const config = { dlqs: { '*': { retention: '30m' } } };
      const bartleby = await new Bartleby(hurried, config, [], { BARTLEBY_TIME_SCALE: '600' }).start();
      try {
        const one = (i) => letterRecord({ key: `k-${i}`, value: '{}', type: 'Old', message: 'x' });
        await bartleby.sendAll('old.dlq', [one(1), one(2), one(3)]);
        const here = async () => {
          const { items } = await bartleby.get('/api/v1/archives');
          return items.reduce((sum, archive) => sum + archive.here, 0);
        };
        await until('the archive', async () => (await here()) === 3);
        const { page, wrong, close } = await openPage(browser, `${bartleby.url}/activity`);
        await page.getByRole('button', { name: 'Archives' }).click();
        const restore = page.getByRole('button', { name: 'Restore the archive of old.dlq' }).first();
        await restore.waitFor();
        await restore.click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Reason, for the audit').fill('the court wants it');
        const verb = dialog.getByRole('button', { name: /^Restore \d letters?$/ });
        const count = Number(/\d+/.exec(await verb.textContent())[0]);
        await verb.click();
        await page.getByText(`${count} letter${count === 1 ? '' : 's'} open again.`).waitFor();
        // Their time is over again soon, by this clock; what was done stays in the audit.
        await page.getByRole('button', { name: 'Audit' }).click();
        await page.getByRole('cell', { name: 'the court wants it' }).first().waitFor();
        assert.deepEqual(await wrong(), []);
        await close();
        return `${count} letters`;
      } finally {
        await bartleby.end();
      }
    },
  },
];

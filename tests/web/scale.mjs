// Very many letters: the list scrolls and searches, and the longest frame is measured and printed.
import assert from 'node:assert/strict';
import { Bartleby, letterRecord, openPage, until } from './support.mjs';

const COUNT = Number(process.env.BARTLEBY_WEB_LETTERS ?? 50000);
const BATCH = 2500;

export const checks = [
  {
    name: 'very_many_letters_scroll_and_are_searched',
    alone: true,
    run: async ({ program, browser }) => {
      const bartleby = await new Bartleby(program, {}).start();
      try {
        for (let at = 0; at < COUNT; at += BATCH)
          await bartleby.sendAll(
            'bulk.dlq',
            Array.from({ length: Math.min(BATCH, COUNT - at) }, (_, i) =>
              letterRecord({
                key: `customer-${at + i}`,
                value: `{"n":${at + i}}`,
                type: `Type${(at + i) % 7}`,
                message: `number ${at + i}`,
                at: Date.now() - (at + i) * 100,
              }),
            ),
          );
        await until(
          'all to be taken in',
          async () => {
            const dlqs = (await bartleby.get('/api/v1/dlqs')).items;
            return dlqs.length > 0 && dlqs[0].open === COUNT;
          },
          600000,
        );
        const { page, wrong, close } = await openPage(browser, `${bartleby.url}/letters?q=dlq%3Abulk.dlq`);
        await page.locator('tbody tr a').first().waitFor();
        const shown = await page.locator('.title .aside').textContent();
        assert.equal(shown.replace(/\D/g, ''), String(COUNT));
        // Scrolls as fast as pages come, and looks at every frame on the way.
        const found = await page.evaluate(
          async (goal) => {
            let longest = 0;
            let last = performance.now();
            let frames = 0;
            const until = performance.now() + 240000;
            const rows = () => document.querySelectorAll('tbody tr:not(.gap)').length;
            let most = 0;
            for (;;) {
              await new Promise(requestAnimationFrame);
              const now = performance.now();
              longest = Math.max(longest, now - last);
              last = now;
              ++frames;
              most = Math.max(most, rows());
              const end = document.documentElement.scrollHeight - innerHeight;
              if (end > goal || now > until) return { longest, frames, most, end };
              scrollTo(0, Math.min(end, scrollY + 2500));
            }
          },
          Math.min(COUNT, 50000) * 36 - 1000,
        );
        assert.ok(found.end > Math.min(COUNT, 50000) * 36 - 1000, `came only to ${found.end} px`);
        assert.ok(found.most < 200, `${found.most} rows in the document at once`);
        await page.keyboard.press('/');
        await page.keyboard.type(`key:customer-${COUNT - 3}`);
        const began = Date.now();
        await page.keyboard.press('Enter');
        await page.getByText('1 letter', { exact: true }).waitFor();
        const searched = Date.now() - began;
        assert.deepEqual(await wrong(), []);
        await close();
        const longest = Math.round(found.longest);
        return `${COUNT} letters, ${found.frames} frames, the longest ${longest} ms; found one in ${searched} ms`;
      } finally {
        await bartleby.end();
      }
    },
  },
];

// axe on every page, light and dark, empty and busy.
import assert from 'node:assert/strict';
import { axeSource, Bartleby, openPage } from './support.mjs';
import { fillDemo, operateDemo, startDemo } from './demo_data.mjs';

async function look(browser, url, path, colorScheme, axe, problems, width = 1280) {
  const { page, wrong, close } = await openPage(browser, url + path, { colorScheme, viewport: { width, height: 900 } });
  await page.locator('main h1').first().waitFor();
  await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => undefined);
  await page.evaluate(axe);
  const found = await page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ['violations'] })).violations.map(
      (one) =>
        `${one.id}: ${one.nodes
          .slice(0, 3)
          .map((node) => node.html.slice(0, 160))
          .join(' | ')}`,
    ),
  );
  for (const one of found) problems.push(`${path} ${colorScheme} ${width}: ${one}`);
  problems.push(...(await wrong()).map((one) => `${path}: ${one}`));
  await close();
}

export const checks = [
  {
    name: 'axe_finds_nothing_on_any_page',
    run: async ({ program, browser }) => {
      const { bartleby, endpoint } = await startDemo(program);
      const empty = await new Bartleby(program, {}).start();
      const problems = [];
      const axe = axeSource();
      let pages = 0;
      try {
        await fillDemo(bartleby);
        const operations = await operateDemo(bartleby);
        const letter = (await bartleby.letters('worker:payouts')).items[0];
        const paths = [
          '/',
          '/letters',
          `/letters/${letter.id}`,
          `/issues/${letter.issue}`,
          '/workers',
          '/workers/emails',
          '/dlqs',
          '/activity',
          '/status',
          '/operations',
          ...operations.map(({ id }) => `/operations/${id}`),
        ];
        for (const scheme of ['light', 'dark']) {
          for (const path of paths) (await look(browser, bartleby.url, path, scheme, axe, problems), ++pages);
          for (const path of ['/', '/letters', '/workers', '/dlqs', '/activity'])
            (await look(browser, empty.url, path, scheme, axe, problems), ++pages);
        }
        for (const path of ['/', `/letters/${letter.id}`])
          (await look(browser, bartleby.url, path, 'light', axe, problems, 360), ++pages);
      } finally {
        endpoint.stop();
        await bartleby.end();
        await empty.end();
      }
      assert.deepEqual(problems, []);
      return `${pages} looks`;
    },
  },
];

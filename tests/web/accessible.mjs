// axe on every page, light and dark, empty and busy.
import assert from 'node:assert/strict';
import { axeSource, Bartleby, openPage, settled, visit } from './support.mjs';
import { fillDemo, operateDemo, startDemo } from './demo_data.mjs';

const violations = async () =>
  (await window.axe.run(document, { resultTypes: ['violations'] })).violations.map(
    (one) =>
      `${one.id}: ${one.nodes
        .slice(0, 3)
        .map((node) => node.html.slice(0, 160))
        .join(' | ')}`,
  );

// Looks at every path in every colour scheme; returns how many looks that were.
async function lookAt(browser, url, paths, schemes, problems, width = 1280) {
  const { page, wrong, close } = await openPage(browser, url, { viewport: { width, height: 900 } });
  await page.locator('main h1').first().waitFor();
  await page.evaluate(axeSource());
  for (const path of paths) {
    await visit(page, path);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await settled(page);
      for (const one of await page.evaluate(violations)) problems.push(`${path} ${colorScheme} ${width}: ${one}`);
    }
  }
  problems.push(...(await wrong()).map((one) => `${url}: ${one}`));
  await close();
  return paths.length * schemes.length;
}

export const checks = [
  {
    name: 'axe_finds_nothing_on_any_page',
    run: async ({ program, browser }) => {
      const { bartleby, endpoint } = await startDemo(program);
      const empty = await new Bartleby(program, {}).start();
      const problems = [];
      let looks = 0;
      try {
        await fillDemo(bartleby);
        const operations = await operateDemo(bartleby);
        const letter = (await bartleby.letters('worker:payouts')).items[0];
        const both = ['light', 'dark'];
        const paths = [
          '/',
          '/letters',
          `/letters/${letter.id}`,
          `/issues/${letter.issue}`,
          '/workers',
          '/workers/emails',
          '/dlqs',
          '/activity',
          '/activity?show=archives',
          '/status',
          '/operations',
          ...operations.map(({ id }) => `/operations/${id}`),
        ];
        looks += await lookAt(browser, bartleby.url, paths, both, problems);
        const bare = ['/', '/letters', '/workers', '/dlqs', '/operations', '/activity'];
        looks += await lookAt(browser, empty.url, bare, both, problems);
        const narrow = ['/', `/letters/${letter.id}`, `/issues/${letter.issue}`];
        looks += await lookAt(browser, bartleby.url, narrow, ['light'], problems, 360);
      } finally {
        endpoint.stop();
        await bartleby.end();
        await empty.end();
      }
      assert.deepEqual(problems, []);
      return `${looks} looks`;
    },
  },
];

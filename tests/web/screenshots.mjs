// Every page with the data of a working day, as small PNGs. Usage: screenshots.mjs PROGRAM FOLDER
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fillDemo, fillHistory, operateDemo, startDemo } from './demo_data.mjs';
import { chromium, openBrowser, openPage, settled } from './support.mjs';

const [program, folder] = process.argv.slice(2);
if (!program || !folder) {
  console.error('usage: screenshots.mjs PROGRAM FOLDER');
  process.exit(2);
}
if (!chromium()) {
  console.error('there is no Chromium here: apt-get install chromium');
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
const { bartleby, endpoint } = await startDemo(program);
const browser = await openBrowser();
try {
  await fillHistory(bartleby);
  await fillDemo(bartleby);
  const operations = await operateDemo(bartleby);
  const letter = (await bartleby.letters('worker:payouts error:BankTimeoutException')).items[0];
  const pages = {
    inbox: '/',
    letters: '/letters?q=state%3Aopen',
    letter: `/letters/${letter.id}`,
    issue: `/issues/${letter.issue}`,
    workers: '/workers',
    worker: '/workers/emails?at=0%3A3',
    dlqs: '/dlqs',
    activity: '/activity',
    status: '/status',
    operations: '/operations',
    ...Object.fromEntries(operations.map(({ name, id }) => [name, `/operations/${id}`])),
  };
  const shots = Object.keys(pages).map((name) => ({
    name,
    file: name,
    width: 1200,
    height: 750,
    colorScheme: 'light',
  }));
  for (const name of ['inbox', 'operation-halted']) {
    shots.push({ name, file: `${name}-dark`, width: 1200, height: 750, colorScheme: 'dark' });
    shots.push({ name, file: `${name}-narrow`, width: 360, height: 720, colorScheme: 'light' });
  }
  for (const { name, file, width, height, colorScheme } of shots) {
    const shown = await openPage(browser, bartleby.url + pages[name], { viewport: { width, height }, colorScheme });
    await shown.page.locator('main h1').waitFor();
    await settled(shown.page);
    await shown.page.screenshot({ path: join(folder, `${file}.png`) });
    await shown.close();
  }
  console.log(`${shots.length} screenshots in ${folder}`);
} finally {
  await browser.close();
  endpoint.stop();
  await bartleby.end();
}

// The pages in a real browser. Usage: run.mjs PROGRAM [NAME…]; one line per check: ok, FAIL or skip with its name.
import { chromium, openBrowser } from './support.mjs';
import * as served from './served.mjs';
import * as pages from './pages.mjs';
import * as operations from './operations.mjs';
import * as hostile from './hostile.mjs';
import * as scale from './scale.mjs';
import * as accessible from './accessible.mjs';

const [program, ...only] = process.argv.slice(2);
if (!program) {
  console.error('usage: run.mjs PROGRAM [NAME…]');
  process.exit(2);
}
const checks = [served, pages, operations, hostile, scale, accessible].flatMap((one) => one.checks);
const wanted = checks.filter((check) => only.length === 0 || only.includes(check.name));
if (!chromium()) {
  for (const check of wanted) console.log(`skip ${check.name} there is no Chromium here: apt-get install chromium`);
  process.exit(0);
}
let failed = 0;
const browser = await openBrowser();
for (const check of wanted) {
  try {
    const said = await check.run({ program, browser });
    console.log(`ok ${check.name}${said ? ` ${said}` : ''}`);
  } catch (error) {
    ++failed;
    console.log(`FAIL ${check.name} ${error.message.split('\n')[0]}`);
    console.log(error.stack.split('\n').slice(0, 30).join('\n'));
  }
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);

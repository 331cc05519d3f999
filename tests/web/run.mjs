// The pages in a real browser. Usage: run.mjs PROGRAM [NAME…]; one line per check: ok, FAIL or skip with its name.
import { chromium, openBrowser } from './support.mjs';
import * as served from './served.mjs';
import * as pages from './pages.mjs';
import * as operations from './operations.mjs';
import * as sessions from './sessions.mjs';
import * as hostile from './hostile.mjs';
import * as scale from './scale.mjs';
import * as accessible from './accessible.mjs';

const [program, ...only] = process.argv.slice(2);
if (!program) {
  console.error('usage: run.mjs PROGRAM [NAME…]');
  process.exit(2);
}
const inBrowser = [pages, sessions, operations, hostile, scale, accessible].flatMap((one) => one.checks);
const checks = [...served.checks, ...inBrowser];
const wanted = checks.filter((check) => only.length === 0 || only.includes(check.name));
let failed = 0;
const browser = chromium() ? await openBrowser() : null;
for (const check of wanted) {
  if (!browser && inBrowser.includes(check)) {
    console.log(`skip ${check.name} there is no Chromium here: apt-get install chromium`);
    continue;
  }
  try {
    const said = await check.run({ program, browser });
    console.log(`ok ${check.name}${said ? ` ${said}` : ''}`);
  } catch (error) {
    ++failed;
    console.log(`FAIL ${check.name} ${error.message.split('\n')[0]}`);
    console.log(error.stack.split('\n').slice(0, 30).join('\n'));
  }
}
await browser?.close();
process.exit(failed > 0 ? 1 : 0);

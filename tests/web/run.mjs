// The pages in a real browser. Usage: run.mjs PROGRAM [NAME…]; one line per check: ok, FAIL or skip with its name.
// Checks mostly wait for a server or for a page, so two run at a time, each with its own server and its own browsing
// context; what measures runs alone, afterwards.
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, openBrowser } from './support.mjs';
import * as served from './served.mjs';
import * as pages from './pages.mjs';
import * as sessions from './sessions.mjs';
import * as operations from './operations.mjs';
import * as archives from './archives.mjs';
import * as hostile from './hostile.mjs';
import * as scale from './scale.mjs';
import * as accessible from './accessible.mjs';

const AT_A_TIME = 2;

const [program, ...only] = process.argv.slice(2);
if (!program) {
  console.error('usage: run.mjs PROGRAM [NAME…]');
  process.exit(2);
}
// The long ones first: then both ends of the row are reached at about the same time.
const inBrowser = [accessible, hostile, archives, sessions, operations, pages, scale].flatMap((one) => one.checks);
const checks = [...inBrowser, ...served.checks];
const wanted = checks.filter((check) => only.length === 0 || only.includes(check.name));
let failed = only.filter((name) => !checks.some((check) => check.name === name)).length;
if (failed > 0) console.log(`FAIL ${only.join(' ')} there is no such check`);
// A test build beside the program, whose clock can be hurried.
const hurried = join(realpathSync(program), '../../../simrel/bin/bartleby');
const browser = chromium() ? await openBrowser() : null;
const given = { program, browser, hurried: existsSync(hurried) ? hurried : null };

async function carryOut(check) {
  const missing =
    !browser && inBrowser.includes(check)
      ? 'there is no Chromium here: apt-get install chromium'
      : check.hurried && !given.hurried
        ? `there is no test build at ${hurried}: make test builds it`
        : null;
  if (missing) return console.log(`skip ${check.name} ${missing}`);
  try {
    const said = await check.run(given);
    console.log(`ok ${check.name}${said ? ` ${said}` : ''}`);
  } catch (error) {
    ++failed;
    // In one piece: the lines of another check must not come between.
    const about = error.stack.split('\n').slice(0, 30).join('\n');
    console.log(`FAIL ${check.name} ${error.message.split('\n')[0]}\n${about}`);
  }
}

async function inTurn(row) {
  for (let check = row.shift(); check; check = row.shift()) await carryOut(check);
}

const together = wanted.filter((check) => !check.alone);
await Promise.all(Array.from({ length: AT_A_TIME }, () => inTurn(together)));
await inTurn(wanted.filter((check) => check.alone));
await browser?.close();
process.exit(failed > 0 ? 1 : 0);

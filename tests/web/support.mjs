// What browser tests and screenshots share: a Bartleby on a free port in a scratch folder, an endpoint that fails as it
// is told to, a browser. Everything is bounded in time; processes are ended by their id.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createSocket } from 'node:net';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../../', import.meta.url).pathname;
const require = createRequire(join(root, 'web/package.json'));
export const PATIENCE = 150000; // ms; a machine may have better things to do for a while

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createSocket().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

export async function until(what, predicate, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await predicate();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${patience / 1000} s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// An endpoint: `rule(message)` says what to answer, as a problem; nothing said means done.
export class Endpoint {
  constructor(rule) {
    this.rule = rule;
    this.seen = [];
  }

  async start() {
    this.server = createServer((request, response) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        const message = {
          worker: request.headers['bartleby-worker'],
          key: decodeURIComponent(request.headers['bartleby-key'] ?? ''),
          attempt: Number(request.headers['bartleby-attempt']),
          replay: 'bartleby-replay-of' in request.headers,
          value: Buffer.concat(parts).toString(),
        };
        this.seen.push(message);
        const wrong = this.rule(message);
        if (!wrong) return response.writeHead(204).end();
        response.writeHead(wrong.status, { 'Content-Type': 'application/problem+json' });
        response.end(
          JSON.stringify({ type: wrong.type, title: wrong.title, detail: wrong.detail, stack: wrong.stack }),
        );
      });
    });
    const port = await freePort();
    await new Promise((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${port}`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export class Bartleby {
  constructor(program, config, options = [], environment = {}) {
    this.program = program;
    this.environment = environment;
    this.folder = mkdtempSync(join(tmpdir(), 'bartleby-web-'));
    writeFileSync(join(this.folder, 'bartleby.yaml'), JSON.stringify(config));
    this.options = options;
  }

  async start() {
    this.port ??= await freePort();
    this.url = `http://127.0.0.1:${this.port}`;
    const log = openSync(join(this.folder, 'serve.log'), 'a');
    this.process = spawn(
      this.program,
      [
        'serve',
        '-c',
        join(this.folder, 'bartleby.yaml'),
        '--data-dir',
        join(this.folder, 'data'),
        '--listen',
        `127.0.0.1:${this.port}`,
        ...this.options,
      ],
      { stdio: ['ignore', log, log], env: { ...process.env, ...this.environment } },
    );
    this.process.on('exit', (code) => (this.ended = code));
    await until('the server to listen', async () => {
      if (this.ended !== undefined)
        throw new Error(`serve ended: ${readFileSync(join(this.folder, 'serve.log'), 'utf8').slice(-2000)}`);
      return fetch(`${this.url}/actuator/health/liveness`).then(
        (answer) => answer.ok,
        () => false,
      );
    });
    const key = join(this.folder, 'data', 'first-admin.key');
    if (existsSync(key)) this.key = readFileSync(key, 'utf8').trim(); // `auth: {keys: store}`
    return this;
  }

  async stop() {
    if (!this.process || this.ended !== undefined) return;
    const gone = new Promise((resolve) => this.process.on('exit', resolve));
    this.process.kill('SIGTERM');
    const late = setTimeout(() => this.process.kill('SIGKILL'), 20000);
    await gone;
    clearTimeout(late);
    this.ended = undefined;
    this.process = null;
  }

  async end() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async call(method, path, body, headers = {}) {
    const known = this.key ? { Authorization: `Bearer ${this.key}` } : {};
    const answer = await fetch(this.url + path, {
      method,
      headers: { ...known, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 400)}`);
    return text && answer.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
  }

  get(path) {
    return this.call('GET', path);
  }

  // One message; headers as [name, value] are named in ASCII.
  send(topic, key, value, headers = {}) {
    const said = Object.fromEntries(Object.entries(headers).map(([name, one]) => [`Bartleby-Header-${name}`, one]));
    return this.call('POST', `/api/v1/topics/${encodeURIComponent(topic)}/messages`, value, {
      'Content-Type': 'application/octet-stream',
      'Bartleby-Key': encodeURIComponent(key),
      ...said,
    });
  }

  // Many, as lines of {key, value, headers}.
  sendAll(topic, messages) {
    return this.call(
      'POST',
      `/api/v1/topics/${encodeURIComponent(topic)}/messages`,
      messages.map((one) => JSON.stringify(one)).join('\n'),
      { 'Content-Type': 'application/x-ndjson' },
    );
  }

  letters(q = '') {
    return this.get(`/api/v1/letters?limit=500&q=${encodeURIComponent(q)}`);
  }

  async untilLetters(count, q = '') {
    await until(`${count} letters ${q}`, async () => (await this.letters(q)).count.value >= count);
  }
}

export function worker(topic, url, more = {}) {
  return { topics: [topic], handler: { http: { url } }, guard: null, ...more };
}

export function chromium() {
  return ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
}

export async function openBrowser() {
  const { chromium: engine } = require('playwright-core');
  return engine.launch({
    executablePath: chromium(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });
}

// A page that remembers what went wrong in it: broken rules of the policy, exceptions, words on the console.
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    const quiet = /Failed to load resource|ERR_CONNECTION|net::ERR/.test(message.text()); // of a server that is away
    if (message.type() === 'error' && !quiet) wrong.push(`console: ${message.text()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    window.asking = 0;
    const plain = window.fetch;
    window.fetch = (...call) => {
      ++window.asking;
      return plain(...call).finally(() => --window.asking);
    };
    document.addEventListener('securitypolicyviolation', (event) =>
      window.violations.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  await page.goto(url);
  return {
    page,
    context,
    async wrong() {
      return [...wrong, ...(await page.evaluate(() => window.violations))];
    },
    close: () => context.close(),
  };
}

// Another page, as a link of this one shows it: without a reload.
export async function visit(page, path) {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await page.locator('main h1').first().waitFor();
}

// Waits until a page shows what it asked for: no request under way, three looks in a row. Its stream of events is open
// all the time, so the browser never calls the network idle.
export async function settled(page) {
  let looks = 0;
  const calm = () => page.evaluate(() => window.asking === 0 && !document.querySelector('.loading'));
  await until('the page to be still', async () => (looks = (await calm()) ? looks + 1 : 0) >= 3);
}

export function axeSource() {
  return readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
}

let letters = 0;

// The id that the office computes too: 130 bits of a hash over the fields, each with its length before it.
function idOf(prefix, fields) {
  const hash = createHash('sha256');
  for (const field of fields.map((one) => Buffer.from(String(one)))) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(field.length);
    hash.update(length).update(field);
  }
  const digest = hash.digest();
  const letter = (_, i) => {
    const bit = i * 5;
    const bytes = (digest[bit >> 3] << 8) | digest[(bit >> 3) + 1];
    return 'abcdefghijklmnopqrstuvwxyz234567'[(bytes >> (11 - (bit % 8))) & 31];
  };
  return prefix + Array.from({ length: 26 }, letter).join('');
}

// A letter as a worker elsewhere would have written it into its dlq: what it says is data, and may be anything.
export function letterRecord(letter) {
  const { key, value, headers = [], topic = 'orders', worker = 'orders', type, message, stack = '' } = letter;
  const { at = Date.now(), attempts = 3, reason = 'EXHAUSTED', kind = 'transient' } = letter;
  const offset = letters++;
  const origin = ['main', topic, 0, offset, at];
  const when = new Date(at).toISOString();
  const ours = {
    v: '1',
    letter: idOf('ltr_', [...origin, worker, 0]),
    lineage: idOf('msg_', origin),
    replays: '0',
    cluster: 'main',
    topic,
    partition: '0',
    offset: String(offset),
    timestamp: when,
    group: worker,
    worker,
    instance: `${worker}-1`,
    reason,
    'error-kind': kind,
    'error-type': type,
    'error-message': message,
    'error-stack': stack,
    attempts: String(attempts),
    'first-failure-at': new Date(at - 40000).toISOString(),
    'last-failure-at': when,
  };
  return { key, value, headers: [...headers, ...Object.entries(ours).map(([name, one]) => [`bartleby-${name}`, one])] };
}

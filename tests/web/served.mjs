// How the pages are served: types, compression, caching, and what a browser is told to refuse.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bartleby } from './support.mjs';

async function withServer(program, work) {
  const bartleby = await new Bartleby(program, { cluster_id: 'prod-eu' }).start();
  try {
    return await work(bartleby);
  } finally {
    await bartleby.end();
  }
}

const page = (bartleby, path, headers = {}) => fetch(bartleby.url + path, { headers });

export const checks = [
  {
    name: 'pages_are_served',
    run: ({ program }) =>
      withServer(program, async (bartleby) => {
        for (const path of [
          '/',
          '/letters',
          '/letters/ltr_x',
          '/issues/iss_x',
          '/operations',
          '/operations/op_x',
          '/workers',
          '/workers/orders',
          '/dlqs',
          '/activity',
          '/status',
        ]) {
          const answer = await page(bartleby, path);
          assert.equal(answer.status, 200, path);
          assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8', path);
          const policy = answer.headers.get('content-security-policy');
          for (const rule of [
            "default-src 'none'",
            "script-src 'self'",
            "require-trusted-types-for 'script'",
            "frame-ancestors 'none'",
          ])
            assert.ok(policy.includes(rule), rule);
          assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
          assert.equal(answer.headers.get('cache-control'), 'no-cache');
        }
        const html = await (await page(bartleby, '/')).text();
        assert.ok(!/prod-eu|\d+\.\d+\.\d+/.test(html), 'it says nothing of this server: everybody may read it');
        const { server } = await bartleby.get('/api/v1/session');
        assert.equal(server.cluster, 'prod-eu');
        assert.match(server.version, /^\d+\.\d+\.\d+/);
        assert.ok(!/<script(?![^>]*src=)|<style| on\w+=/.test(html), 'nothing inline');
      }),
  },
  {
    name: 'files_are_compressed_and_kept',
    run: ({ program }) =>
      withServer(program, async (bartleby) => {
        const html = await (await page(bartleby, '/')).text();
        const script = /src="(\/ui\/[^"]+\.js)"/.exec(html)[1];
        const plain = Buffer.from(
          await (await page(bartleby, script, { 'Accept-Encoding': 'identity' })).arrayBuffer(),
        );
        for (const encoding of ['br', 'gzip']) {
          const answer = await page(bartleby, script, { 'Accept-Encoding': `${encoding}, deflate;q=0.5` });
          assert.equal(answer.headers.get('content-encoding'), encoding);
          assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable');
          assert.ok(plain.equals(Buffer.from(await answer.arrayBuffer())), `${encoding} is the same script`);
        }
        const none = await page(bartleby, script, { 'Accept-Encoding': 'gzip;q=0, br;q=0' });
        assert.equal(none.headers.get('content-encoding'), null);
        for (const path of ['/', script]) {
          const etag = (await page(bartleby, path)).headers.get('etag');
          const again = await page(bartleby, path, { 'If-None-Match': etag });
          assert.equal(again.status, 304, path);
          assert.equal((await page(bartleby, path, { 'If-None-Match': '"other"' })).status, 200, path);
        }
      }),
  },
  {
    name: 'other_paths_stay_problems',
    run: ({ program }) =>
      withServer(program, async (bartleby) => {
        for (const path of [
          '/nowhere',
          '/letters/a/b',
          '/ui/',
          '/ui/nothing.js',
          '/ui/..%2findex.html',
          '/ui/index.html',
          '/api/v1/nowhere',
          '/workers/',
        ]) {
          const answer = await page(bartleby, path, { Accept: 'text/html' });
          assert.equal(answer.status, 404, path);
          assert.equal(answer.headers.get('content-type'), 'application/problem+json', path);
        }
        const posted = await fetch(`${bartleby.url}/letters`, { method: 'POST' });
        assert.equal(posted.status, 404);
      }),
  },
  {
    name: 'pages_come_from_a_folder_while_somebody_works_on_them',
    run: async ({ program }) => {
      const folder = mkdtempSync(join(tmpdir(), 'bartleby-ui-'));
      mkdirSync(join(folder, 'ui'));
      writeFileSync(join(folder, 'index.html'), '<p>one</p>');
      writeFileSync(join(folder, 'ui', 'a.js'), 'first');
      writeFileSync(join(folder, 'secret.txt'), 'secret');
      const bartleby = await new Bartleby(program, {}, ['--ui-dir', folder]).start();
      try {
        assert.equal(await (await page(bartleby, '/letters')).text(), '<p>one</p>');
        assert.equal(await (await page(bartleby, '/ui/a.js')).text(), 'first');
        writeFileSync(join(folder, 'ui', 'a.js'), 'second');
        const again = await page(bartleby, '/ui/a.js');
        assert.equal(await again.text(), 'second');
        assert.equal(again.headers.get('cache-control'), 'no-cache');
        for (const path of ['/ui/..%2fsecret.txt', '/ui/secret.txt', '/ui/.%2fa.js'])
          assert.equal((await page(bartleby, path)).status, 404, path);
      } finally {
        await bartleby.end();
        rmSync(folder, { recursive: true });
      }
    },
  },
];

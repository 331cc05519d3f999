// Forty kinds of hostile text, in every place that a message or a handler can fill: shown, and harmless.
import assert from 'node:assert/strict';
import { Bartleby, letterRecord, openPage, until, visit } from './support.mjs';

const deep = (n) => '['.repeat(n) + ']'.repeat(n);
const kinds = {
  script: '<script>window.hit=1</script>',
  image: '<img src=x onerror="window.hit=1">',
  svg: '<svg onload="window.hit=1"></svg>',
  attribute: '" autofocus onfocus="window.hit=1',
  quote: "'-(window.hit=1)-'",
  frame: '<iframe srcdoc="<script>parent.hit=1</script>"></iframe>',
  address: 'javascript:window.hit=1',
  data: 'data:text/html,<script>opener.hit=1</script>',
  meta: '<meta http-equiv="refresh" content="0;url=https://example.org">',
  base: '<base href="https://example.org/">',
  style: '<style>*{display:none}</style>',
  comment: '<!-- --!><script>window.hit=1</script>',
  template: '${window.hit=1}{{window.hit=1}}<%= window.hit=1 %>',
  entity: '&lt;script&gt;&#60;script&#62;',
  closing: '</textarea></title></script><script>window.hit=1</script>',
  markdown: '[x](javascript:window.hit=1) ![y](https://example.org/z)',
  prototype: '{"__proto__":{"hit":1},"constructor":{"prototype":{"hit":1}}}',
  ansi: '\u001b[31mred\u001b[0m\u001b]0;title\u0007',
  bell: '\u0007\u0008\u007f',
  carriage: 'first\rsecond\nthird\tfourth',
  rightToLeft: 'exe.\u202egnp.invoice',
  isolate: '\u2067abc\u2069\u061c',
  invisible: 'pay\u200bpal\u2060\ufeff',
  separator: 'a\u2028b\u2029c',
  zalgo: `z${'\u0301\u0327\u0489'.repeat(200)}`,
  emoji: '👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  wide: '㊙️㍿𝔉𝔲𝔩𝔩',
  replacement: '\ufffd\ufffe\uffff',
  homoglyph: 'аdmin (cyrillic)',
  long: 'x'.repeat(900),
  unbroken: 'W'.repeat(400),
  blanks: '   \u00a0\u3000   ',
  huge: '{"n": 123456789012345678901234567890, "e": 1e999999, "z": -0.0}',
  repeated: '{"a":1,"a":2,"":3}',
  deepJson: deep(90),
  deeperJson: deep(450),
  halfJson: '{"a": [1, 2',
  surrogate: '{"a": "\\ud800", "b": "\\u0000"}',
  query: 'state:open" -issue:x text:"',
  path: '../../../etc/passwd%00%2e%2e',
  shell: "'; rm -rf / #$(id)`id`",
};

async function lookAround(browser, bartleby, ids, issues) {
  const { page, wrong, close } = await openPage(browser, `${bartleby.url}/`);
  const seen = [];
  const check = async (where) => {
    assert.equal(await page.evaluate(() => window.hit ?? Object.prototype.hit ?? 0), 0, `${where}: something ran`);
    assert.equal(
      await page.evaluate(
        () => document.querySelectorAll('main iframe, main script, main style, main base, main img, main meta').length,
      ),
      0,
      where,
    );
    assert.ok(page.url().startsWith(bartleby.url), `${where}: led away to ${page.url()}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    const widest = () =>
      [...document.querySelectorAll('main *')]
        .sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right)[0]
        .outerHTML.slice(0, 150);
    assert.ok(over <= 1, `${where}: ${over} px wider than the window: ${over > 1 && (await page.evaluate(widest))}`);
  };
  const go = async (path) => {
    await visit(page, path);
    seen.push(path);
  };
  await page.locator('.in-row').first().waitFor();
  await check('inbox');
  await go('/letters');
  await page.locator('tbody tr a').first().waitFor();
  await check('letters');
  for (const [name, id] of ids) {
    await go(`/letters/${id}`);
    await page.locator('.payload .bytes, .payload .tree, .note').first().waitFor();
    await page.locator('.lives li').first().waitFor();
    await check(`letter ${name}`);
  }
  for (const id of issues) {
    await go(`/issues/${id}`);
    await page.locator('.bar').first().waitFor();
    await check(`issue ${id}`);
  }
  await go('/dlqs');
  await go('/activity');
  await check('activity');
  const found = await wrong();
  await close();
  assert.deepEqual(found, []);
  return seen.length;
}

export const checks = [
  {
    name: 'hostile_text_is_only_text',
    run: async ({ program, browser }) => {
      const bartleby = await new Bartleby(program, {}).start();
      try {
        assert.ok(Object.keys(kinds).length >= 40);
        const records = Object.entries(kinds).map(([name, text], i) =>
          letterRecord({
            key: text,
            value: text,
            headers: [[text.slice(0, 200) || 'x', text]],
            topic: text.slice(0, 100),
            worker: text.slice(0, 100),
            type: text.slice(0, 100),
            message: text.slice(0, 800),
            stack: text.slice(0, 400),
            at: Date.now() - i * 1000,
          }),
        );
        await bartleby.sendAll('hostile.dlq', records);
        const raw = { base64: Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0x80]).toString('base64') };
        await bartleby.sendAll('hostile.dlq', [{ key: raw, value: raw, headers: [['not', 'text']] }]);
        await bartleby.sendAll('hostile.dlq', [{ key: 'null', value: null }]);
        const large = await bartleby.send(
          'hostile.dlq',
          'large',
          Buffer.alloc(900 * 1024, '<script>window.hit=1</script>'),
        );
        assert.ok(large.offset >= 0);
        const all = records.length + 3;
        await bartleby.untilLetters(all);
        const list = (await bartleby.letters()).items;
        const issues = (await bartleby.get('/api/v1/issues?limit=500')).items.map((one) => one.id);
        await until('issues', () => issues.length > 0);
        const decoded = list.filter((one) => one.dialect === 'record').length;
        const ids = list.map((one) => [String(one.error.type).slice(0, 20), one.id]);
        const seen = await lookAround(browser, bartleby, ids, issues.slice(0, 12));
        assert.ok(decoded >= 25, `only ${decoded} letters told a story`);
        const size = Object.keys(kinds).length;
        return `${size} kinds, ${decoded} of them as stories, ${seen} pages, nothing ran, no report of the policy`;
      } finally {
        await bartleby.end();
      }
    },
  },
];

// Puts the built files into one pack for the program: lines `name encoding offset size`, an empty line, the bytes.
// Checks the budget: what a browser must fetch before the first page shows, as script, compressed.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const BUDGET = 100 * 1024;
const dist = new URL('../../build/web/dist/', import.meta.url);
const index = readFileSync(new URL('index.html', dist), 'utf8');
const files = new Map([['index.html', Buffer.from(index)]]);
for (const name of readdirSync(new URL('ui/', dist)).sort()) files.set(name, readFileSync(new URL(`ui/${name}`, dist)));

// The bundler lists the licenses of scripts; the fonts have theirs.
const fonts = ['mono', 'sans', 'serif']
  .map((name) => `@fontsource/ibm-plex-${name}`)
  .map((name) => `## ${name}\n\n${readFileSync(new URL(`../node_modules/${name}/LICENSE`, import.meta.url), 'utf8')}`);
files.set('licenses.txt', Buffer.concat([files.get('licenses.txt'), Buffer.from(`\n${fonts.join('\n')}`)]));

if (/<script(?![^>]*\bsrc=)[^>]*>/.test(index) || /<style|\son\w+=/.test(index))
  throw new Error('index.html has an inline script or style: the server forbids both');

const lines = [];
const parts = [];
let offset = 0;
const add = (name, encoding, bytes) => {
  lines.push(`${name} ${encoding} ${offset} ${bytes.length}`);
  parts.push(bytes);
  offset += bytes.length;
};
let first = 0;
for (const [name, bytes] of files) {
  add(name, 'identity', bytes);
  if (name.endsWith('.woff2')) continue; // compressed already
  const gzip = gzipSync(bytes, { level: 9 });
  add(name, 'gzip', gzip);
  add(name, 'br', brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
  if (name.endsWith('.js') && index.includes(`/ui/${name}`)) first += gzip.length;
}
writeFileSync(new URL('../ui.pack', dist), Buffer.concat([Buffer.from(`${lines.join('\n')}\n\n`), ...parts]));
const kb = (n) => `${(n / 1024).toFixed(1)} kB`;
if (first > BUDGET) {
  console.error(`web: the first load has ${kb(first)} of script (gzip), more than ${kb(BUDGET)}`);
  process.exit(1);
}
console.log(
  `web: first load ${kb(first)} of script (gzip) of ${kb(BUDGET)}; pack ${kb(offset)} in ${files.size} files`,
);

// The value of a message: as a tree, as text, as bytes. It is never interpreted: every character goes into the page as
// text, control characters and marks of direction made visible. Large ones are read in part.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { bytesOf, enc, type Problem } from '../api/client';
import { asProblem } from '../app/data';
import { size, visible } from '../app/format';
import { query, setQuery } from '../app/url';
import { parseTree, type Node } from './lossless';
import { Trouble } from './bits';

const IN_PART = 256 * 1024;
const CHILDREN = 100;
const HEX_ROWS = 64;

export interface Loaded {
  bytes: Uint8Array | null;
  total: number;
  text: string | null; // where the bytes are UTF-8
  whole: boolean;
}

export function useValue(id: string): { loaded?: Loaded; problem?: Problem } {
  const state = useSignal<{ loaded?: Loaded; problem?: Problem }>({});
  useEffect(() => {
    const stop = new AbortController();
    state.value = {};
    bytesOf(`/api/v1/letters/${enc(id)}/value`, IN_PART, stop.signal)
      .then(({ bytes, total }) => {
        let text: string | null = null;
        const whole = !bytes || bytes.length >= total;
        try {
          // A cut may go through a character: the rest of it is not held against the text.
          if (bytes)
            text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !whole });
        } catch {
          text = null;
        }
        state.value = { loaded: { bytes, total, text, whole } };
      })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) state.value = { problem: asProblem(error) };
      });
    return () => stop.abort();
  }, [id]);
  return state.value;
}

function Leaf({ node }: { node: Node }) {
  if (node.kind === 'string') return <span class="j-string">"{visible(node.value)}"</span>;
  if (node.kind === 'number') return <span class="j-number">{node.raw}</span>;
  return <span class="j-word">{node.kind === 'word' ? node.value : ''}</span>;
}

function Branch({ name, node, depth }: { name: string | null; node: Node; depth: number }) {
  const shown = useSignal(CHILDREN);
  const open = useSignal(depth < 3);
  const label = name === null ? null : <span class="j-key">{visible(name)}</span>;
  if (node.kind !== 'object' && node.kind !== 'array')
    return (
      <li>
        {label}
        {label && ': '}
        <Leaf node={node} />
      </li>
    );
  const children: [string, Node][] =
    node.kind === 'object' ? node.entries : node.items.map((one, i): [string, Node] => [String(i), one]);
  if (children.length === 0)
    return (
      <li>
        {label}
        {label && ': '}
        {node.kind === 'object' ? '{}' : '[]'}
      </li>
    );
  const about = node.kind === 'object' ? `{${children.length}}` : `[${children.length}]`;
  return (
    <li>
      <details open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
        <summary>
          {label ?? 'value'} <span class="j-count">{about}</span>
        </summary>
        {open.value && (
          <ul>
            {children.slice(0, shown.value).map(([key, one], i) => (
              <Branch key={i} name={key} node={one} depth={depth + 1} />
            ))}
            {children.length > shown.value && (
              <li>
                <button type="button" class="quiet-button" onClick={() => (shown.value += 10 * CHILDREN)}>
                  {children.length - shown.value} more
                </button>
              </li>
            )}
          </ul>
        )}
      </details>
    </li>
  );
}

function Hex({ bytes }: { bytes: Uint8Array }) {
  const rows = useSignal(HEX_ROWS);
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, rows.value * 16); at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const hex = row
      .map((b) => b.toString(16).padStart(2, '0'))
      .join(' ')
      .padEnd(47);
    const text = row.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : '·')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex}  ${text}`);
  }
  return (
    <>
      <pre class="bytes" tabIndex={0}>
        {lines.join('\n')}
      </pre>
      {bytes.length > rows.value * 16 && (
        <button type="button" class="quiet-button" onClick={() => (rows.value *= 4)}>
          more
        </button>
      )}
    </>
  );
}

type View = 'tree' | 'text' | 'hex';

export function Payload({ id, value }: { id: string; value: { loaded?: Loaded; problem?: Problem } }) {
  const { loaded, problem } = value;
  const tree = useMemo(() => (loaded?.text && loaded.whole ? parseTree(loaded.text) : null), [loaded]);
  if (problem) return <Trouble problem={problem} />;
  if (!loaded)
    return (
      <p class="loading" role="status">
        Looking…
      </p>
    );
  if (loaded.bytes === null) return <p class="note">The message has no value (null): a tombstone.</p>;
  if (loaded.bytes.length === 0) return <p class="note">The value is empty: 0 bytes.</p>;
  const best: View =
    tree && (tree.kind === 'object' || tree.kind === 'array') ? 'tree' : loaded.text === null ? 'hex' : 'text';
  const has: Record<View, boolean> = { tree: tree !== null, text: loaded.text !== null, hex: true };
  const asked = query.value.get('view') as View | null;
  const view = asked && has[asked] ? asked : best;
  return (
    <div class="payload">
      <div class="tabs" role="group" aria-label="Show the value as">
        {(['tree', 'text', 'hex'] as const)
          .filter((one) => has[one])
          .map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === view}
              onClick={() => setQuery({ view: one === best ? null : one })}
            >
              {one}
            </button>
          ))}
        <span class="payload-size">
          {size(loaded.total)}
          {!loaded.whole && `, the first ${size(loaded.bytes.length)} shown`}
        </span>
        <a href={`/api/v1/letters/${enc(id)}/value`} download={`${id}.bin`}>
          download
        </a>
      </div>
      {view === 'tree' && tree && (
        <ul class="tree">
          <Branch name={null} node={tree} depth={0} />
        </ul>
      )}
      {view === 'text' && (
        <pre class="bytes text" tabIndex={0} dir="ltr">
          {visible(loaded.text ?? '', true)}
        </pre>
      )}
      {view === 'hex' && <Hex bytes={loaded.bytes} />}
    </div>
  );
}

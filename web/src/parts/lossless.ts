// JSON as it was written: numbers keep their digits, keys their order and repetitions. Bounded in depth and nodes; what
// goes beyond is shown as text.

export type Node =
  | { kind: 'object'; entries: [string, Node][] }
  | { kind: 'array'; items: Node[] }
  | { kind: 'number'; raw: string }
  | { kind: 'string'; value: string }
  | { kind: 'word'; value: 'true' | 'false' | 'null' };

export const MOST_DEPTH = 100;
export const MOST_NODES = 50000;

export function parseTree(text: string): Node | null {
  let at = 0;
  let nodes = 0;
  const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
  const blank = /[ \t\n\r]*/y;

  const skip = () => {
    blank.lastIndex = at;
    blank.test(text);
    at = blank.lastIndex;
  };
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return null;
    at = pattern.lastIndex;
    return found[0];
  };
  const value = (depth: number): Node | null => {
    if (depth > MOST_DEPTH || ++nodes > MOST_NODES) return null;
    skip();
    const c = text[at];
    if (c === '{') return object(depth);
    if (c === '[') return array(depth);
    if (c === '"') {
      const raw = take(string);
      return raw === null ? null : { kind: 'string', value: JSON.parse(raw) as string };
    }
    for (const word of ['true', 'false', 'null'] as const)
      if (text.startsWith(word, at)) {
        at += word.length;
        return { kind: 'word', value: word };
      }
    const raw = take(number);
    return raw === null ? null : { kind: 'number', raw };
  };
  const object = (depth: number): Node | null => {
    const entries: [string, Node][] = [];
    ++at;
    skip();
    if (text[at] === '}') return (++at, { kind: 'object', entries });
    while (true) {
      skip();
      const key = take(string);
      if (key === null) return null;
      skip();
      if (text[at++] !== ':') return null;
      const one = value(depth + 1);
      if (!one) return null;
      entries.push([JSON.parse(key) as string, one]);
      skip();
      const next = text[at++];
      if (next === '}') return { kind: 'object', entries };
      if (next !== ',') return null;
    }
  };
  const array = (depth: number): Node | null => {
    const items: Node[] = [];
    ++at;
    skip();
    if (text[at] === ']') return (++at, { kind: 'array', items });
    while (true) {
      const one = value(depth + 1);
      if (!one) return null;
      items.push(one);
      skip();
      const next = text[at++];
      if (next === ']') return { kind: 'array', items };
      if (next !== ',') return null;
    }
  };
  const tree = value(0);
  skip();
  return tree && at === text.length ? tree : null;
}

export function treeText(node: Node, indent = ''): string {
  const deeper = `${indent}  `;
  switch (node.kind) {
    case 'number':
      return node.raw;
    case 'word':
      return node.value;
    case 'string':
      return JSON.stringify(node.value);
    case 'array':
      if (node.items.length === 0) return '[]';
      return `[\n${node.items.map((one) => deeper + treeText(one, deeper)).join(',\n')}\n${indent}]`;
    case 'object':
      if (node.entries.length === 0) return '{}';
      return `{\n${node.entries
        .map(([key, one]) => `${deeper}${JSON.stringify(key)}: ${treeText(one, deeper)}`)
        .join(',\n')}\n${indent}}`;
  }
}

export interface PatchStep {
  op: 'add' | 'remove' | 'replace';
  path: string;
  before?: string;
  after?: string; // JSON text, so that no digit is lost
}

const escaped = (key: string) => key.replace(/~/g, '~0').replace(/\//g, '~1');

// The steps (JSON Patch) that make one document the other.
export function difference(before: Node, after: Node, path = ''): PatchStep[] {
  if (before.kind === 'object' && after.kind === 'object') {
    const old = new Map(before.entries);
    const fresh = new Map(after.entries);
    const steps: PatchStep[] = [];
    for (const [key, node] of old) {
      const other = fresh.get(key);
      const at = `${path}/${escaped(key)}`;
      if (!other) steps.push({ op: 'remove', path: at, before: treeText(node) });
      else steps.push(...difference(node, other, at));
    }
    for (const [key, node] of fresh)
      if (!old.has(key)) steps.push({ op: 'add', path: `${path}/${escaped(key)}`, after: treeText(node) });
    return steps;
  }
  if (before.kind === 'array' && after.kind === 'array' && before.items.length === after.items.length)
    return before.items.flatMap((node, i) => difference(node, after.items[i]!, `${path}/${i}`));
  const [a, b] = [treeText(before), treeText(after)];
  return a === b ? [] : [{ op: 'replace', path, before: a, after: b }];
}

export function patchText(steps: PatchStep[]): string {
  const value = (step: PatchStep) => (step.after === undefined ? '' : `,"value":${step.after}`);
  const one = (step: PatchStep) => `{"op":"${step.op}","path":${JSON.stringify(step.path)}${value(step)}}`;
  return `[${steps.map(one).join(',')}]`;
}

// The query box: suggestions while one types, and mistakes at their character.
import { computed, signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, type Problem } from '../api/client';
import type { Suggestions } from '../api/types';
import { visible } from '../app/format';
import { useKeys } from '../app/keys';
import { go, here, query, term, to } from '../app/url';

// Set by the list of letters when the server does not understand the query.
export const queryProblem = signal<Problem | null>(null);

const fields: [string, string][] = [
  ['dlq:', 'a dead letter topic'],
  ['worker:', 'a worker'],
  ['state:', 'open, replaying, resolved …'],
  ['error:', 'the type of the error'],
  ['key:', "the message's key"],
  ['reason:', 'why it is a letter'],
  ['topic:', 'where it came from'],
  ['group:', 'a consumer group'],
  ['issue:', 'an issue'],
  ['since:', '24h, 7d or a time'],
  ['before:', '24h, 7d or a time'],
  ['replays:', '0, >1'],
  ['header.', 'a header: header.tenant:acme'],
  ['text:', 'words in error, key or headers'],
];
const known: Record<string, string[]> = {
  state: ['open', 'replaying', 'resolved', 'discarded', 'archived'],
  reason: ['EXHAUSTED', 'REJECTED', 'MALFORMED', 'SECURITY', 'PROCESS_CRASH', 'GIVEN_UP', 'EXPIRING', 'TOO_LARGE'],
  since: ['1h', '24h', '7d', '30d'],
  before: ['1h', '24h', '7d', '30d'],
  replays: ['0', '>0', '>1'],
};
// What the server offered last, and for which text before the caret.
const offered = signal<{ asked: string; items: Suggestions['items'] }>({ asked: '', items: [] });
let asking = 0;

async function ask(text: string) {
  if (!/\S*:\S*$/.test(text) || text === offered.value.asked) return;
  const mine = ++asking;
  try {
    const { items } = await api<Suggestions>(`/api/v1/suggest?q=${encodeURIComponent(text)}`);
    if (mine === asking) offered.value = { asked: text, items };
  } catch {
    // Without an answer there is nothing to offer; the list of letters says what is wrong.
  }
}

interface Suggestion {
  text: string; // what the word becomes
  about: string;
}

function suggestions(text: string, caret: number): { from: number; list: Suggestion[] } {
  const before = text.slice(0, caret);
  const from = before.search(/\S*$/);
  let word = before.slice(from);
  const minus = word.startsWith('-') ? '-' : '';
  word = word.slice(minus.length);
  const colon = word.indexOf(':');
  if (colon < 0) {
    const list = fields.filter(([field]) => field.startsWith(word) && field !== word);
    return { from, list: list.map(([field, about]) => ({ text: minus + field, about })) };
  }
  const field = word.slice(0, colon);
  const begun = word.slice(colon + 1).toLowerCase();
  const list = (known[field] ?? []).filter((one) => one.toLowerCase().includes(begun) && one.toLowerCase() !== begun);
  if (list.length > 0 || offered.value.asked !== before)
    return { from, list: list.map((one) => ({ text: `${minus}${term(field, one)} `, about: '' })) };
  const there = offered.value.items.filter((one) => one.term !== word);
  return { from, list: there.slice(0, 12).map((one) => ({ text: `${minus}${one.term} `, about: visible(one.about) })) };
}

export function QueryBox() {
  const box = useRef<HTMLInputElement>(null);
  const shown = computed(() => (here.value.path === '/letters' ? (query.value.get('q') ?? '') : ''));
  const text = useSignal(shown.value);
  const open = useSignal(false);
  const at = useSignal(-1);
  useEffect(() => {
    text.value = shown.value;
  }, [shown.value]);
  useKeys([{ key: '/', does: 'search letters', run: () => box.current?.select() }]);

  const { from, list } = open.value
    ? suggestions(text.value, box.current?.selectionStart ?? text.value.length)
    : { from: 0, list: [] };
  const take = (one: Suggestion) => {
    const input = box.current!;
    const caret = input.selectionStart ?? text.value.length;
    const next = text.value.slice(0, from) + one.text + text.value.slice(caret).replace(/^\S*\s?/, '');
    // At once, not with the next drawing: who types on must not lose a letter.
    input.value = next;
    input.setSelectionRange(from + one.text.length, from + one.text.length);
    input.focus();
    at.value = -1;
    text.value = next;
    void ask(next.slice(0, from + one.text.length));
  };
  const submit = () => {
    open.value = false;
    queryProblem.value = null;
    go(to.letters(text.value.trim()));
  };
  const problem = here.value.path === '/letters' && text.value === shown.value ? queryProblem.value : null;
  return (
    <search class="query">
      <form
        role="presentation"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <input
          ref={box}
          type="text"
          role="combobox"
          aria-label="Search letters"
          aria-expanded={list.length > 0}
          aria-controls="suggestions"
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          enterkeyhint="search"
          aria-activedescendant={at.value >= 0 ? `suggestion-${at.value}` : undefined}
          aria-invalid={!!problem}
          aria-describedby={problem ? 'query-problem' : undefined}
          placeholder="search letters, for example  worker:orders error:Timeout since:24h"
          value={text.value}
          maxLength={2000}
          onFocus={(event) => {
            open.value = true;
            void ask(event.currentTarget.value);
          }}
          onBlur={() => (open.value = false)}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            open.value = true;
            at.value = -1;
            void ask(text.value.slice(0, event.currentTarget.selectionStart ?? text.value.length));
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown' && list.length > 0) {
              event.preventDefault();
              at.value = (at.value + 1) % list.length;
            } else if (event.key === 'ArrowUp' && list.length > 0) {
              event.preventDefault();
              at.value = at.value <= 0 ? list.length - 1 : at.value - 1;
            } else if ((event.key === 'Enter' || event.key === 'Tab') && at.value >= 0 && list[at.value]) {
              event.preventDefault();
              take(list[at.value]!);
            } else if (event.key === 'Escape') {
              if (list.length > 0) open.value = false;
              else event.currentTarget.blur();
            }
          }}
        />
        <kbd aria-hidden="true">/</kbd>
      </form>
      <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden={list.length === 0}>
        {list.map((one, i) => (
          <li
            key={one.text}
            id={`suggestion-${i}`}
            role="option"
            aria-selected={i === at.value}
            onMouseDown={(event) => {
              event.preventDefault();
              take(one);
            }}
          >
            <code>{one.text}</code>
            <span>{one.about}</span>
          </li>
        ))}
      </ul>
      {problem && (
        <div id="query-problem" class="query-problem" role="alert">
          {problem.position !== undefined && (
            <code aria-hidden="true">
              {text.value.slice(0, problem.position)}
              <mark>{text.value.slice(problem.position, problem.position + 1) || '\u00a0'}</mark>
              {text.value.slice(problem.position + 1)}
            </code>
          )}
          <span>{problem.detail}</span>
        </div>
      )}
    </search>
  );
}

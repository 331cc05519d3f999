// Which messages died, and where is the one I look for?
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { lacks } from '../app/facts';
import { count, plural } from '../app/format';
import { useKeys } from '../app/keys';
import { useList } from '../app/list';
import { query } from '../app/url';
import { plan } from '../parts/actions';
import { Act, Command, Empty, Title, Trouble, quoted, useCli, useTitle } from '../parts/bits';
import { LetterTable, rowOf, type LetterRow } from '../parts/letter_table';
import { queryProblem } from '../parts/query_box';

export function Letters() {
  const q = query.value.get('q') ?? '';
  useTitle(q ? `Letters ${q}` : 'Letters');
  useCli(q ? `bartleby letters ls -q ${quoted(q)}` : 'bartleby letters ls');
  const list = useList<LetterRow>('/api/v1/letters', q ? { q } : {}, (one) => one.id, {
    topics: ['letters', 'operations'],
    keep: rowOf,
  });
  const state = list.state.value;
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const everything = useSignal(false); // all that match, not only what is loaded
  useEffect(() => {
    selected.value = new Set();
    everything.value = false;
  }, [q]);
  const wrongQuery = state.problem?.type.endsWith('invalid-query') ?? false;
  useEffect(() => {
    queryProblem.value = wrongQuery ? state.problem! : null;
    return () => {
      queryProblem.value = null;
    };
  }, [state.problem]);

  const ticked = selected.value.size;
  const whole = everything.value && ticked > 0;
  const meant = whole ? state.count.value : ticked;
  const why = lacks('replay') || (ticked === 0 && 'select letters first');
  const selection = () => (whole ? { q } : { ids: [...selected.value] });
  const start = (kind: 'replay' | 'discard' | 'purge') => () => ticked > 0 && void plan(kind, selection());
  useKeys(
    [
      { key: 'r', does: 'replay the selection…', run: start('replay') },
      { key: 'd', does: 'discard the selection…', run: start('discard') },
      { key: 'u', does: 'select nothing', run: () => (selected.value = new Set()) },
    ],
    [q],
  );
  const many = !state.count.exact
    ? `more than ${count(state.count.value)} letters`
    : plural(state.count.value, 'letter');
  return (
    <>
      <Title aside={<span role="status">{state.loading ? 'looking…' : many}</span>}>Letters</Title>
      <div class="bar" role="toolbar" aria-label="With the selection">
        <Act kind="main" run={start('replay')} why={why}>
          Replay {meant > 0 ? plural(meant, 'letter') : 'selection'}…
        </Act>
        {ticked > 0 && (
          <Act run={start('discard')} why={lacks('discard')}>
            Discard…
          </Act>
        )}
        {ticked > 0 && (
          <Act run={start('purge')} why={lacks('discard')} title="Delete for ever: a plan first">
            Purge…
          </Act>
        )}
        {ticked > 0 && !whole && ticked === state.items.length && state.count.value > ticked && (
          <button type="button" class="quiet-button" onClick={() => (everything.value = true)}>
            All {count(ticked)} loaded are selected. Select all {count(state.count.value)} that match
          </button>
        )}
        {whole && <span>All that match the query are selected.</span>}
      </div>
      {state.fresh > 0 && (
        <p class="fresh">
          <button
            type="button"
            class="button main"
            onClick={() => {
              scrollTo(0, 0);
              list.renew();
            }}
          >
            {state.fresh >= 100 ? 'Many new letters' : plural(state.fresh, 'new letter')} ↑
          </button>
        </p>
      )}
      {state.problem && !wrongQuery && <Trouble problem={state.problem} retry={list.renew} />}
      {state.items.length > 0 && !wrongQuery && (
        <LetterTable
          letters={state.items}
          label="Letters"
          total={state.count.value}
          near={list.more}
          selected={selected}
        />
      )}
      {!state.loading && !state.problem && state.items.length === 0 && (
        <Empty title={q ? 'No letter matches.' : 'There are no letters.'}>
          <p>A letter is a dead message with its story. Terms must all hold; a minus in front means not.</p>
          <Command text={`bartleby letters ls -q 'worker:orders state:open since:24h'`} />
          <Command text={`bartleby letters ls -q 'error:Timeout -state:resolved'`} />
        </Empty>
      )}
    </>
  );
}

// What became of the letters of an operation, as one bar and in words.
import type { ItemResult, Operation } from '../api/types';
import { count } from '../app/format';

const order: [ItemResult, string, string][] = [
  ['succeeded', 'succeeded', 'good'],
  ['passed', 'passed', 'good'],
  ['came_back', 'came back', 'bad'],
  ['unknown', 'unknown', 'warn'],
  ['skipped', 'skipped', 'quiet'],
  ['sent', 'sent, waiting', 'busy'],
  ['pending', 'not yet', 'none'],
];

export function Outcome({ operation, small }: { operation: Operation; small?: boolean }) {
  const total = Math.max(1, operation.letters);
  const shown = order.filter(([result]) => (operation.results[result] ?? 0) > 0);
  const words = shown.map(([result, word]) => `${count(operation.results[result])} ${word}`).join(', ');
  if (small && operation.state === 'planned') return <span class="note">nothing is done yet</span>;
  return (
    <div class={`outcome ${small ? 'small' : ''}`}>
      <div class="outcome-bar" role="img" aria-label={words || 'nothing yet'}>
        {shown.map(([result, , tone]) => (
          <i
            key={result}
            class={`tone-${tone}`}
            style={{ width: `${((operation.results[result] ?? 0) / total) * 100}%` }}
          />
        ))}
      </div>
      {!small && (
        <ul class="outcome-words">
          {order
            .filter(
              ([result]) => (operation.results[result] ?? 0) > 0 || result === 'succeeded' || result === 'came_back',
            )
            .map(([result, word, tone]) => (
              <li key={result}>
                <i class={`tone-${tone}`} aria-hidden="true" />
                <b>{count(operation.results[result] ?? 0)}</b> {word}
              </li>
            ))}
        </ul>
      )}
    </div>
  );
}

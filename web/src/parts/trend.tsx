// Letters per hour, drawn by uPlot, which is fetched when it is first needed; under it, when replays began.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Operation } from '../api/types';
import { isDark } from '../app/theme';
import { count, moment, plural } from '../app/format';
import { to } from '../app/url';

const HOUR = 3600;
const HEIGHT = 190;

// As the canvas wants it: a token may be of two colours, and the document knows which one counts.
function color(box: HTMLElement, name: string): string {
  box.style.color = `var(${name})`;
  const found = getComputedStyle(box).color;
  box.style.color = '';
  return found;
}

function thisHour(): number {
  return Math.floor(Date.now() / 1000 / HOUR) * HOUR;
}

interface Mark {
  hour: number; // of the trend, from its beginning
  what: string;
  href: string;
  text: string;
}

// Replays of one hour are one mark; it leads to the newest.
function marksOf(replays: Operation[], hours: number): Mark[] {
  const by = new Map<number, Operation[]>();
  for (const one of replays) {
    if (!one.started_at) continue;
    const ago = (thisHour() - Math.floor(Date.parse(one.started_at) / 1000 / HOUR) * HOUR) / HOUR;
    const hour = hours - 1 - ago;
    if (hour >= 0 && hour < hours) by.set(hour, [...(by.get(hour) ?? []), one]);
  }
  return [...by].map(([hour, list]) => ({
    hour,
    what: list.map((one) => `replay of ${plural(one.letters, 'letter')}, ${moment(one.started_at)}`).join('; '),
    href: to.operation(list[0]!.id),
    text: list.length > 1 ? `▲${list.length}` : '▲',
  }));
}

export function Trend({ values, replays }: { values: number[]; replays: Operation[] }) {
  const box = useRef<HTMLDivElement>(null);
  const area = useSignal<{ left: number; width: number } | null>(null);
  const dark = isDark();
  useEffect(() => {
    let ended = false;
    let end = () => {};
    void import('./plot').then(({ default: uPlot }) => {
      if (ended || !box.current) return;
      const inside = box.current;
      const times = values.map((_, i) => thisHour() - (values.length - 1 - i) * HOUR);
      const axis = {
        stroke: color(inside, '--ink-2'),
        font: '12px "IBM Plex Mono", monospace',
        ticks: { show: false },
      };
      const bad = color(inside, '--bad');
      const plot = new uPlot(
        {
          width: inside.clientWidth,
          height: HEIGHT,
          legend: { show: false },
          cursor: { show: false },
          scales: {
            x: { time: true, range: (_u, min, max) => [min - HOUR / 2, max + HOUR / 2] },
            y: { range: (_u, _min, max) => [0, Math.max(2, max * 1.15)] },
          },
          axes: [
            {
              ...axis,
              size: 30,
              grid: { show: false },
              values: (_u, at) => at.map((t) => `${String(new Date(t * 1000).getHours()).padStart(2, '0')}:00`),
            },
            {
              ...axis,
              size: 44,
              grid: { stroke: color(inside, '--rule'), width: 1 },
              values: (_u, at) => at.map((n) => (Number.isInteger(n) ? count(n) : '')),
            },
          ],
          series: [
            {},
            { stroke: bad, fill: bad, paths: uPlot.paths.bars!({ size: [0.7, 26] }), points: { show: false } },
          ],
        },
        [times, values.map((value) => value || null)],
        inside,
      );
      const place = () => (area.value = { left: plot.over.offsetLeft, width: plot.over.clientWidth });
      const watch = new ResizeObserver(() => {
        plot.setSize({ width: inside.clientWidth, height: HEIGHT });
        place();
      });
      watch.observe(inside);
      place();
      end = () => {
        watch.disconnect();
        plot.destroy();
      };
    });
    return () => {
      ended = true;
      end();
    };
  }, [values.join(), dark]);
  const marks = marksOf(replays, values.length);
  const at = area.value;
  return (
    <>
      <div class="trend" ref={box} role="img" aria-label={`Letters per hour, the last 24 hours: ${values.join(' ')}`} />
      {marks.length > 0 && at && (
        <ul class="trend-marks" aria-label="Replays">
          {marks.map((mark) => (
            <li key={mark.hour} style={{ left: `${at.left + (at.width * (mark.hour + 0.5)) / values.length}px` }}>
              <a href={mark.href} title={mark.what} aria-label={mark.what}>
                {mark.text}
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

// Letters per hour, drawn by uPlot, which is fetched when it is first needed.
import { useEffect, useRef } from 'preact/hooks';
import { isDark, theme } from '../app/theme';
import { count } from '../app/format';

const HOUR = 3600;
const HEIGHT = 190;

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function Trend({ values }: { values: number[] }) {
  const box = useRef<HTMLDivElement>(null);
  const dark = (void theme.value, isDark());
  useEffect(() => {
    let ended = false;
    let end = () => {};
    void import('./plot').then(({ default: uPlot }) => {
      if (ended || !box.current) return;
      const last = Math.floor(Date.now() / 1000 / HOUR) * HOUR;
      const times = values.map((_, i) => last - (values.length - 1 - i) * HOUR);
      const ink = color('--ink-2');
      const axis = { stroke: ink, font: '12px "IBM Plex Mono", monospace', ticks: { show: false } };
      const plot = new uPlot(
        {
          width: box.current.clientWidth,
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
              grid: { show: false },
              values: (_u, at) => at.map((t) => `${String(new Date(t * 1000).getHours()).padStart(2, '0')}:00`),
            },
            {
              ...axis,
              size: 44,
              grid: { stroke: color('--rule'), width: 1 },
              values: (_u, at) => at.map((n) => (Number.isInteger(n) ? count(n) : '')),
            },
          ],
          series: [
            {},
            {
              stroke: color('--bad'),
              fill: color('--bad'),
              paths: uPlot.paths.bars!({ size: [0.7, 26] }),
              points: { show: false },
            },
          ],
        },
        [times, values.map((value) => value || null)],
        box.current,
      );
      const watch = new ResizeObserver(
        () => box.current && plot.setSize({ width: box.current.clientWidth, height: HEIGHT }),
      );
      watch.observe(box.current);
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
  return (
    <div class="trend" ref={box} role="img" aria-label={`Letters per hour, the last 24 hours: ${values.join(' ')}`} />
  );
}

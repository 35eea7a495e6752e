import { quantile } from '../../measure/statistics.js';
import { at, element, escapeText } from './markup.js';
import { linearScale } from './scale.js';

export interface Curve {
  name: string;
  series: string;
  values: readonly number[];
  emphasized: boolean;
}

const WIDTH = 760;
const HEIGHT = 320;
const PLOT = { left: 48, right: 18, top: 10, bottom: 38 };
/** Number of points of a curve; more could not be distinguished */
const POINTS = 120;

/** Draws the share of values up to each limit. The axis ends where every curve shows 98 %. */
export function cdfChart(curves: readonly Curve[], axis: string): string {
  const sorted = curves.map(({ values }) => [...values].sort((a, b) => a - b));
  const x = linearScale(
    Math.max(...sorted.map((values) => quantile(values, 0.98))),
    [PLOT.left, WIDTH - PLOT.right],
    8,
  );
  const y = (share: number): number => HEIGHT - PLOT.bottom - share * (HEIGHT - PLOT.bottom - PLOT.top);
  const end = x.ticks.at(-1) ?? 0;
  const grid = [
    ...x.ticks.map(
      (tick) =>
        element('line', { class: 'grid', x1: at(x(tick)), x2: at(x(tick)), y1: at(y(1)), y2: at(y(0)) }) +
        element('text', { class: 'tick', x: at(x(tick)), y: at(y(0) + 16), 'text-anchor': 'middle' }, String(tick)),
    ),
    ...[0, 0.25, 0.5, 0.75, 1].map(
      (share) =>
        element('line', { class: 'grid', x1: PLOT.left, x2: WIDTH - PLOT.right, y1: at(y(share)), y2: at(y(share)) }) +
        element(
          'text',
          { class: 'tick', x: PLOT.left - 6, y: at(y(share) + 4), 'text-anchor': 'end' },
          `${share * 100} %`,
        ),
    ),
    element('text', { class: 'tick', x: WIDTH - PLOT.right, y: HEIGHT - 4, 'text-anchor': 'end' }, escapeText(axis)),
  ];
  const lines = curves.map(({ name, series, emphasized }, index) =>
    element(
      'path',
      { class: `curve ${series}${emphasized ? ' emphasized' : ''}`, d: outline(sorted[index] ?? [], end, x, y) },
      element('title', {}, escapeText(name)),
    ),
  );
  // Draws emphasized curves on top.
  const order = curves
    .map((_, index) => index)
    .sort((a, b) => Number(curves[a]?.emphasized) - Number(curves[b]?.emphasized));
  return element(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': axis },
    ...grid,
    ...order.map((index) => lines[index] ?? ''),
  );
}

function outline(
  sorted: readonly number[],
  end: number,
  x: (value: number) => number,
  y: (share: number) => number,
): string {
  const count = Math.min(POINTS, sorted.length);
  const points = Array.from({ length: count }, (_, index) => {
    const share = (index + 1) / count;
    return [quantile(sorted, share), share] as const;
  }).filter(([value]) => value <= end);
  const first = sorted[0] ?? 0;
  return `M${at(x(0))} ${at(y(0))}L${at(x(first))} ${at(y(0))}${points.map(([value, share]) => `L${at(x(value))} ${at(y(share))}`).join('')}`;
}

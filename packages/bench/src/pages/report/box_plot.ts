import { quantile } from '../../measure/statistics.js';
import { at, element, escapeText } from './markup.js';
import { linearScale } from './scale.js';

export interface Box {
  name: string;
  /** CSS class of its color */
  series: string;
  values: readonly number[];
  mean: number;
  /** Mark of another's value, with its title */
  reference?: { value: number; title: string };
}

const WIDTH = 760;
const ROW = 26;
const LEFT = 120;
const RIGHT = 60;
const TOP = 22;

/**
 * Draws a box plot with one row each: quartiles, median, mean, and all values within 1.5 interquartile ranges; outliers
 * are dots.
 */
export function boxPlot(boxes: readonly Box[], bound: { value: number; title: string } | undefined): string {
  const most = Math.max(
    bound?.value ?? 0,
    ...boxes.flatMap(({ values, reference }) => [...values, reference?.value ?? 0]),
  );
  const x = linearScale(most, [LEFT, WIDTH - RIGHT]);
  const bottom = TOP + boxes.length * ROW;
  const grid = x.ticks.map(
    (tick) =>
      element('line', { class: 'grid', x1: at(x(tick)), x2: at(x(tick)), y1: TOP, y2: bottom }) +
      element('text', { class: 'tick', x: at(x(tick)), y: bottom + 16, 'text-anchor': 'middle' }, String(tick)),
  );
  const limit =
    bound === undefined
      ? ''
      : element('line', { class: 'bound', x1: at(x(bound.value)), x2: at(x(bound.value)), y1: TOP - 6, y2: bottom }) +
        element(
          'text',
          { class: 'tick', x: at(x(bound.value)), y: TOP - 9, 'text-anchor': 'middle' },
          escapeText(bound.title),
        );
  const rows = boxes.map((box, index) => boxRow(box, TOP + (index + 0.5) * ROW, x));
  return element(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${bottom + 24}`, role: 'img', 'aria-label': 'Times by scheduler' },
    ...grid,
    limit,
    ...rows,
  );
}

function boxRow({ name, series, values, mean, reference }: Box, y: number, x: (value: number) => number): string {
  const sorted = [...values].sort((a, b) => a - b);
  const [lower, middle, upper] = [0.25, 0.5, 0.75].map((fraction) => quantile(sorted, fraction)) as [
    number,
    number,
    number,
  ];
  const reach = 1.5 * (upper - lower);
  const inside = sorted.filter((value) => value >= lower - reach && value <= upper + reach);
  const low = inside[0] ?? lower;
  const high = inside.at(-1) ?? upper;
  const outliers = sorted.filter((value) => value < low || value > high);
  const title = `${name}: median ${middle.toFixed(0)} ms, mean ${mean.toFixed(0)} ms, quartiles ${lower.toFixed(0)} to ${upper.toFixed(0)} ms`;
  return element(
    'g',
    { class: `box ${series}` },
    element('title', {}, escapeText(title)),
    element('text', { class: 'label', x: LEFT - 10, y: at(y + 4), 'text-anchor': 'end' }, escapeText(name)),
    element('line', { class: 'whisker', x1: at(x(low)), x2: at(x(high)), y1: at(y), y2: at(y) }),
    element('rect', {
      class: 'quartiles',
      x: at(x(lower)),
      y: at(y - 8),
      width: at(Math.max(1, x(upper) - x(lower))),
      height: 16,
      rx: 2,
    }),
    element('line', { class: 'median', x1: at(x(middle)), x2: at(x(middle)), y1: at(y - 8), y2: at(y + 8) }),
    element('circle', { class: 'mean', cx: at(x(mean)), cy: at(y), r: 3 }),
    ...outliers.map((value) => element('circle', { class: 'outlier', cx: at(x(value)), cy: at(y), r: 2 })),
    ...(reference
      ? [
          element(
            'path',
            { class: 'reference', d: `M${at(x(reference.value))} ${at(y - 6)}l5 6l-5 6l-5 -6z` },
            element('title', {}, escapeText(reference.title)),
          ),
        ]
      : []),
    element('text', { class: 'value', x: WIDTH - RIGHT + 12, y: at(y + 4) }, mean.toFixed(0)),
  );
}

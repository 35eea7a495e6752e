import type { PageResource } from '../table/page_table.js';
import { at, element, escapeText } from './markup.js';
import { linearScale } from './scale.js';

/** Times of a run; null for resources that were not requested */
export interface WaterfallRun {
  first_ms: readonly (number | null)[];
  done_ms: readonly (number | null)[];
  critical_ms: number;
}

const WIDTH = 360;
const LEFT = 4;
const RIGHT = 14;
const TOP = 4;
/** Approximate height of all rows together */
const HEIGHT = 240;

/** Draws when each resource waits and arrives, in page order. `end_ms` makes the axes of several charts equal. */
export function waterfall(resources: readonly PageResource[], run: WaterfallRun, end_ms: number): string {
  const row = Math.max(4, Math.min(14, Math.floor(HEIGHT / resources.length)));
  const x = linearScale(end_ms, [LEFT, WIDTH - RIGHT], 4);
  const bottom = TOP + row * resources.length;
  const middle = (index: number): number => TOP + (index + 0.5) * row;
  const isThere = (index: number): boolean => typeof run.done_ms[index] === 'number';
  const waiting = resources
    .map((_, index) => (isThere(index) ? `M${LEFT} ${at(middle(index))}H${at(x(run.first_ms[index] ?? 0))}` : ''))
    .join('');
  const classes = [...new Set(resources.map((resource) => resource.class))];
  const bars = classes.map((kind) => {
    const path = resources.flatMap((resource, index) => {
      if (resource.class !== kind || !isThere(index)) return [];
      const from = x(run.first_ms[index] ?? 0);
      return [`M${at(from)} ${at(middle(index))}H${at(Math.max(from + 1.5, x(run.done_ms[index] ?? 0)))}`];
    });
    return element('path', { class: `bar kind-${kind}`, 'stroke-width': row - 1.5, d: path.join('') });
  });
  const grid = x.ticks.map(
    (tick) =>
      element('line', { class: 'grid', x1: at(x(tick)), x2: at(x(tick)), y1: TOP, y2: bottom }) +
      element(
        'text',
        { class: 'tick', x: at(x(tick)), y: bottom + 13, 'text-anchor': tick === 0 ? 'start' : 'middle' },
        String(tick),
      ),
  );
  // Invisible rows that show a title under the pointer
  const names = resources.map(({ path, bytes }, index) => {
    const arrival = isThere(index)
      ? `first byte ${(run.first_ms[index] ?? 0).toFixed(0)} ms, complete ${(run.done_ms[index] ?? 0).toFixed(0)} ms`
      : 'not asked for';
    const title = `${path}, ${bytes} bytes: ${arrival}`;
    return element(
      'rect',
      { class: 'row', x: 0, y: TOP + index * row, width: WIDTH, height: row },
      element('title', {}, escapeText(title)),
    );
  });
  const critical = element('line', {
    class: 'critical',
    x1: at(x(run.critical_ms)),
    x2: at(x(run.critical_ms)),
    y1: TOP,
    y2: bottom,
  });
  return element(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${bottom + 18}`, role: 'img', 'aria-label': 'Waterfall' },
    ...grid,
    element('path', { class: 'waiting', d: waiting }),
    ...bars,
    critical,
    ...names,
  );
}

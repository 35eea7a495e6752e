import { Chart, element, type Frame } from '../live/chart.js';
import type { Rates } from './tree_history.js';

type Span = Readonly<{ from: number; to: number }>;

/** Draws packets in a second as areas upon each other: copies below, repairs and the group above. */
export class WaysChart {
  private readonly chart: Chart;

  constructor(svg: SVGSVGElement) {
    this.chart = new Chart(svg);
  }

  draw(rates: readonly Rates[], cuts: readonly Span[], now: number): void {
    const highest = Math.max(1, ...rates.map(({ group, repairs, copies }) => group + repairs + copies));
    this.chart.draw(highest, (frame) => [...bands(frame, cuts, now), ...areas(frame, rates, now)]);
  }
}

/** Layers from the lowest to the highest: the class, and the top of the layer */
const layers: [name: string, top: (rates: Rates) => number][] = [
  ['copies', ({ copies }) => copies],
  ['repairs', ({ copies, repairs }) => copies + repairs],
  ['group', ({ copies, repairs, group }) => copies + repairs + group],
];

function areas(frame: Frame, rates: readonly Rates[], now: number): SVGElement[] {
  const line = (points: readonly Rates[], value: (rates: Rates) => number): string =>
    points.map((each) => `${place(frame, each.at, now)} ${frame.y(value(each)).toFixed(1)}`).join(' L ');
  if (rates.length < 2) return [];
  const reversed = rates.toReversed();
  return layers.map(([name, top], index) => {
    const bottom = layers[index - 1]?.[1] ?? (() => 0);
    return element('path', { class: `layer ${name}`, d: `M ${line(rates, top)} L ${line(reversed, bottom)} Z` });
  });
}

/** A frame's way from the publisher to this page */
export interface Arrival {
  readonly at: number;
  readonly milliseconds: number;
}

/** Draws one dot for each frame, and the time at which frames are shown. */
export class ArrivalsChart {
  private readonly chart: Chart;

  constructor(
    svg: SVGSVGElement,
    private readonly delayMs: number,
  ) {
    this.chart = new Chart(svg);
  }

  draw(arrivals: readonly Arrival[], cuts: readonly Span[], now: number): void {
    this.chart.draw(this.delayMs * 1.2, (frame) => [
      ...bands(frame, cuts, now),
      element('line', {
        class: 'deadline',
        ...{ x1: frame.x(60), x2: frame.x(0), y1: frame.y(this.delayMs), y2: frame.y(this.delayMs) },
      }),
      element('path', { class: 'dots', d: arrivals.map((each) => dot(frame, each, now)).join(' ') }),
    ]);
  }
}

const dot = (frame: Frame, { at, milliseconds }: Arrival, now: number): string =>
  `M ${place(frame, at, now)} ${frame.y(milliseconds).toFixed(1)} h 0`;

function bands(frame: Frame, cuts: readonly Span[], now: number): SVGElement[] {
  return cuts.map(({ from, to }) => {
    const [left, right] = [frame.x(ago(from, now)), frame.x(ago(to, now))];
    const [top, bottom] = [frame.y(Infinity), frame.y(0)];
    return element('rect', {
      class: 'band',
      ...{ x: left, width: Math.max(2, right - left), y: top, height: bottom - top },
    });
  });
}

const ago = (at: number, now: number): number => Math.min(60, (now - at) / 1_000);

const place = (frame: Frame, at: number, now: number): string => frame.x(ago(at, now)).toFixed(1);

import { Chart, element, type Frame } from './chart.js';
import type { PathSample } from './path_history.js';

/** What happened at a time, in milliseconds */
export interface ChartSample {
  readonly at: number;
  /** Lost packets */
  readonly lost: number;
}

/** One line of a chart */
export interface ChartLine<Sample> {
  /** Number of its style */
  readonly place: number;
  readonly samples: readonly Sample[];
}

/** Draws one line for each path, or for something else: the value of its samples over the last minute. */
export class PathChart<Sample extends ChartSample = PathSample> {
  private readonly chart: Chart;

  constructor(
    svg: SVGSVGElement,
    private readonly value: (sample: Sample) => number,
    /** Whether losses are marked at the top */
    private readonly marksLosses = false,
  ) {
    this.chart = new Chart(svg);
  }

  draw(series: readonly ChartLine<Sample>[], now: number): void {
    const highest = Math.max(1, ...series.flatMap(({ samples }) => samples.map(this.value)));
    this.chart.draw(highest, (frame) => series.flatMap((each) => this.marks(frame, each, now)));
  }

  private marks(frame: Frame, { place, samples }: ChartLine<Sample>, now: number): SVGElement[] {
    const x = ({ at }: Sample): string => frame.x((now - at) / 1_000).toFixed(1);
    const points = samples.map((sample) => `${x(sample)} ${frame.y(this.value(sample)).toFixed(1)}`);
    const line = element('path', {
      class: `line ${pathClass(place)}`,
      d: points.length === 0 ? '' : `M ${points.join(' L ')}`,
    });
    if (!this.marksLosses) return [line];
    const losses = samples.filter(({ lost }) => lost > 0).map((sample) => `M ${x(sample)} ${frame.y(Infinity)} v 10`);
    return [line, element('path', { class: 'losses', d: losses.join(' ') })];
  }
}

/** Returns one of six styles, since a connection rarely has more paths. */
export function pathClass(place: number): string {
  return `path-${(place % 6) + 1}`;
}

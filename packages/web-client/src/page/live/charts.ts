import { Chart, element, type Frame } from './chart.js';
import { formatNumber } from './format.js';
import { BUCKETS, BUCKET_MS, type Bucket } from './history.js';
import type { Trip } from './probe.js';

/** Draws lines for bytes sent and returned, in Mbit/s. */
export class ThroughputChart {
  private readonly chart: Chart;
  private pointed: number | undefined;

  constructor(
    svg: SVGSVGElement,
    private readonly readout: HTMLElement,
  ) {
    this.chart = new Chart(svg);
    this.chart.onPointer((secondsAgo) => {
      this.pointed = secondsAgo;
    });
  }

  draw(rates: readonly Bucket[]): void {
    const highest = Math.max(1, ...rates.flatMap(({ sent, returned }) => [sent, returned]));
    this.chart.draw(highest, (frame) => [...(rates.length > 1 ? lines(frame, rates) : []), ...this.pointer(frame)]);
    this.readout.textContent = this.describe(rates);
  }

  private pointer(frame: Frame): SVGElement[] {
    if (this.pointed === undefined) return [];
    const x = frame.x(this.pointed);
    return [element('line', { class: 'pointer', x1: x, x2: x, y1: frame.y(0), y2: frame.y(Infinity) })];
  }

  private describe(rates: readonly Bucket[]): string {
    if (this.pointed === undefined) return 'The last 60 seconds, Mbit/s.';
    const index = rates.length - 1 - Math.round((this.pointed * 1_000) / BUCKET_MS);
    const { sent, returned } = rates[index] ?? { sent: 0, returned: 0 };
    return `${this.pointed.toFixed(1)} s ago: ${formatNumber(sent)} sent, ${formatNumber(returned)} returned, Mbit/s.`;
  }
}

function lines(frame: Frame, rates: readonly Bucket[]): SVGElement[] {
  const returned = line(frame, rates, 'returned');
  const area = `${returned} V ${frame.y(0)} H ${frame.x(secondsAgo(rates, 0))} Z`;
  return [
    element('path', { class: 'area', d: area }),
    element('path', { class: 'line returned', d: returned }),
    element('path', { class: 'line sent', d: line(frame, rates, 'sent') }),
  ];
}

function secondsAgo(rates: readonly Bucket[], index: number): number {
  return ((rates.length - 1 - index) * 60) / (BUCKETS - 2);
}

function line(frame: Frame, rates: readonly Bucket[], kind: keyof Bucket): string {
  const points = rates.map((bucket, index) => {
    return `${frame.x(secondsAgo(rates, index)).toFixed(1)} ${frame.y(bucket[kind]).toFixed(1)}`;
  });
  return `M ${points.join(' L ')}`;
}

/** Draws one dot per datagram. Lost ones are marked at the top. */
export class RoundTripChart {
  private readonly chart: Chart;

  constructor(svg: SVGSVGElement) {
    this.chart = new Chart(svg);
  }

  draw(trips: readonly Trip[], now: number): void {
    const times = trips.flatMap(({ milliseconds }) => milliseconds ?? []).sort((a, b) => a - b);
    // Cuts off the highest percent, so that one late datagram does not flatten all others.
    const highest = times[Math.floor(times.length * 0.99)] ?? 1;
    this.chart.draw(highest, (frame) => [
      element('path', { class: 'dots', d: this.dots(frame, trips, now) }),
      element('path', { class: 'losses', d: this.losses(frame, trips, now) }),
    ]);
  }

  // Draws each dot as a line of no length with round ends, so that hundreds of them need only one element.
  private dots(frame: Frame, trips: readonly Trip[], now: number): string {
    return trips
      .filter(({ milliseconds }) => milliseconds !== undefined)
      .map(({ sentAt, milliseconds }) => `M ${place(frame, sentAt, now)} ${frame.y(milliseconds!).toFixed(1)} h 0`)
      .join(' ');
  }

  private losses(frame: Frame, trips: readonly Trip[], now: number): string {
    const top = frame.y(Infinity);
    return trips
      .filter(({ lost }) => lost)
      .map(({ sentAt }) => `M ${place(frame, sentAt, now)} ${top} v 10`)
      .join(' ');
  }
}

function place(frame: Frame, sentAt: number, now: number): string {
  return frame.x(Math.min(60, (now - sentAt) / 1_000)).toFixed(1);
}

import { expect, test } from 'vitest';
import type { Plot } from '../../../src/evidence/artefact/artefact.js';
import { drawPlot } from '../../../src/evidence/report/plot.js';
import { tableOf } from '../../../src/evidence/report/view.js';
import { someArtefact } from '../some_artefact.js';

const shares = [10, 50, 100];
const slow = [100, 200, 800];
const fast = [50, 100, 400];
const published = [40, 70, 900];

const artefact = someArtefact((file) => {
  file['published'] = [
    {
      source: 'raw data',
      statistic: 'median',
      n: 100,
      values: shares.map((share, index) => ({
        arm: 'fast',
        quantity: 'time_ms',
        at: { share },
        value: published[index],
      })),
    },
  ];
  file['plots'] = [{ title: 'Curves', kind: 'distribution', quantity: 'time_ms', arms: ['slow', 'fast'], x: 'share' }];
});

const curvesOf = (arm: string, times: number[]) =>
  shares.map((share, index) => ({
    arm,
    at: { share },
    quantity: 'time_ms',
    values: [times[index]!, times[index]! + 2],
  }));
const table = tableOf(
  artefact,
  { cells: [...curvesOf('slow', slow), ...curvesOf('fast', fast)] },
  { quantity: 'time_ms' },
);

interface Curve {
  color: string | undefined;
  isDashed: boolean;
  points: { x: number; y: number }[];
}

/** Draws the only panel. Returns its curves, with their points in pixels. */
async function drawnCurves(changes: Partial<Plot> = {}): Promise<Curve[]> {
  const { panels } = await drawPlot({ ...artefact.plots[0]!, ...changes }, table);
  const [panel] = panels;
  return [...panel!.svg.matchAll(/<path [^>]*aria-roledescription="line mark"[^>]*>/g)].map(([path]) => ({
    color: /stroke="(var\(--series-\d\))"/.exec(path)?.[1],
    isDashed: path.includes('stroke-dasharray'),
    points: [...(/ d="([^"]*)"/.exec(path)?.[1] ?? '').matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => ({
      x: Number(x),
      y: Number(y),
    })),
  }));
}

test('a distribution has a curve for each arm, with the published one dashed in the same color', async () => {
  const curves = await drawnCurves();
  expect(curves.map(({ color, isDashed }) => [color, isDashed])).toEqual([
    ['var(--series-0)', false],
    ['var(--series-1)', false],
    ['var(--series-1)', true],
  ]);
  const drawing = await drawPlot(artefact.plots[0]!, table);
  expect(drawing).toMatchObject({ kind: 'distribution', hasPublished: true, hasIntervals: false });
});

test('shares go up, and figures across', async () => {
  for (const { points } of await drawnCurves()) {
    expect(points).toHaveLength(shares.length);
    const [first, second, last] = points;
    expect(first!.y).toBeGreaterThan(second!.y);
    expect(second!.y).toBeGreaterThan(last!.y);
    expect(last!.y).toBeCloseTo(0);
    expect(first!.x).toBeLessThan(last!.x);
  }
  const [ofSlow, ofFast, ofPublished] = await drawnCurves();
  // The published curve crosses that of the slow arm, which all share one scale.
  expect(ofFast!.points[1]!.x).toBeLessThan(ofSlow!.points[1]!.x);
  expect(ofPublished!.points[1]!.x).toBeLessThan(ofFast!.points[1]!.x);
  expect(ofPublished!.points[2]!.x).toBeGreaterThan(ofSlow!.points[2]!.x);
});

test('a logarithmic scale gives equal ratios equal distances', async () => {
  const [ofSlow, ofFast] = await drawnCurves({ logarithmic: true });
  const apart = shares.map((_, index) => ofSlow!.points[index]!.x - ofFast!.points[index]!.x);
  expect(Math.min(...apart)).toBeGreaterThan(0);
  // Medians lie one millisecond above the doubles of each other, which changes their ratio by at most 1 %.
  expect(Math.max(...apart) / Math.min(...apart)).toBeCloseTo(1, 1);
});

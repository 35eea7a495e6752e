import { expect, test } from 'vitest';
import type { Plot } from '../../../src/evidence/artefact/artefact.js';
import { pictureOf } from '../../../src/evidence/report/picture.js';
import { drawPlot } from '../../../src/evidence/report/plot.js';
import { tableOf } from '../../../src/evidence/report/view.js';
import { someArtefact, times } from '../some_artefact.js';

const slow = [100, 102, 98, 101, 99, 100];
const half = [40, 41, 39, 40.5, 39.5, 40];
const pages = ['news', 'shop', 'games'];

const artefact = someArtefact((file) => {
  file['setup'].arms.fast.label = 'the fast <one>';
  file['published'] = [
    {
      source: 'text',
      statistic: 'median',
      n: 100,
      values: [{ arm: 'fast', quantity: 'time_ms', at: { page: 'news' }, value: 33.25 }],
    },
  ];
});
const result = { cells: pages.flatMap((page) => times(slow, half, page)) };
const table = tableOf(artefact, result, { quantity: 'time_ms' });
const plot: Plot = { ...artefact.plots[0]!, where: {} };

test('a plot has a panel for each value of its facet, all with the same arms', async () => {
  const { panels, legend, columns, hasPublished, hasIntervals } = await drawPlot(
    { ...plot, x: 'arm', facet: 'page' },
    table,
  );
  expect(panels.map(({ title }) => title)).toEqual(pages);
  expect(legend.map(({ label }) => label)).toEqual(['slow', 'the fast <one>']);
  expect({ columns, hasPublished, hasIntervals }).toEqual({ columns: 3, hasPublished: true, hasIntervals: true });
});

test('rows have places in the order of the result, and arms in that of the artefact', () => {
  const shuffled = { cells: pages.flatMap((page) => [...times(slow, half, page)].reverse()) };
  const order = ({ rows }: typeof table): string[] => rows.map(({ place, arm }) => `${place} ${arm}`);
  expect(order(tableOf(artefact, shuffled, { quantity: 'time_ms' }))).toEqual(order(table));
  expect(table.rows.map(({ arm }) => arm)).toEqual(pages.flatMap(() => Object.keys(artefact.setup.arms)));
});

test('a plot shows the wanted places alone', async () => {
  const drawing = await drawPlot({ ...plot, facet: 'page', where: { page: ['shop', 'games'] } }, table);
  expect(drawing.panels.map(({ title }) => title)).toEqual(['shop', 'games']);
  // The published value belongs to another place.
  expect(drawing.hasPublished).toBe(false);
  expect((await drawPlot({ ...plot, where: { page: 'nowhere' } }, table)).panels).toEqual([]);
});

test('bars with long names lie, so that the names can be read', async () => {
  const page = 'a page with a name that is long';
  const long = tableOf(artefact, { cells: times(slow, half, page) }, { quantity: 'time_ms' });
  const sizeOf = async (of: typeof table): Promise<number> => {
    const { panels } = await drawPlot({ ...plot, where: {} }, of);
    return Number(/\bwidth="(\d+)"/.exec(panels[0]!.svg)?.[1]);
  };
  const { panels } = await drawPlot(plot, long);
  expect(panels[0]!.svg).toContain(page);
  expect(await sizeOf(long)).toBeGreaterThan(await sizeOf(table));
});

test('a logarithmic scale leaves out values that it cannot have, and a maximum has no whiskers', async () => {
  const largest = structuredClone(artefact);
  largest.quantities['time_ms']!.statistic = 'maximum';
  const cells = times([0, 0], [0, 0]);
  const drawing = await drawPlot({ ...plot, logarithmic: true }, tableOf(largest, { cells }, { quantity: 'time_ms' }));
  expect(drawing.hasIntervals).toBe(false);
  expect(drawing.panels[0]!.svg).not.toMatch(/NaN|Infinity/);
});

test('the picture for other documents has all panels, their names and the colors of light and dark', async () => {
  const picture = pictureOf(await drawPlot({ ...plot, x: 'arm', facet: 'page' }, table));
  expect(picture.match(/<svg /g)).toHaveLength(4);
  for (const page of pages) expect(picture).toContain(`>${page}</text>`);
  expect(picture).toContain('the fast &#60;one&#62;');
  expect(picture).toContain('prefers-color-scheme:dark');
  expect(picture).not.toContain('NaN');
});

import { describe, expect, test } from 'vitest';
import { otherController, oursAgainstOthers, publishedDirections } from '../../../src/pages/simulation/findings.js';
import type { LevelName } from '../../../src/pages/simulation/network.js';
import type { PageName } from '../../../src/pages/simulation/page.js';
import type { TreeName } from '../../../src/pages/simulation/priority_trees.js';
import { cellName } from '../../../src/pages/simulation/run_record.js';
import { someCell, someRun } from '../some_cells.js';

const PUBLISHED = ['rr', 'wrr', 'swrr', 'sa-ecf', 'dwrr'];

const cells = (page: PageName, tree: TreeName, level: LevelName, times: Record<string, number>) =>
  Object.entries(times).map(([scheduler, time]) => someCell({ page, tree, level, scheduler }, time));

/** All schedulers alike but for these. */
const alike = (time: number, others: Record<string, number> = {}): Record<string, number> => ({
  ...Object.fromEntries(PUBLISHED.map((name) => [name, time])),
  ...others,
});

describe('the published directions', () => {
  test('are not judged without their cells', () => {
    expect(publishedDirections([]).map(({ holds }) => holds)).toEqual([null, null, null, null]);
  });

  test('hold when priorities beat RR by enough', () => {
    const [youtube, amazon] = publishedDirections([
      ...cells('youtube', 'safari', 'low', alike(700, { rr: 1001 })),
      ...cells('amazon', 'safari', 'low', alike(700, { rr: 800 })),
    ]);
    expect(youtube).toMatchObject({ holds: true, measured: [expect.stringContaining('30 % faster')] });
    expect(youtube?.why).toBeUndefined();
    expect(amazon).toMatchObject({ holds: false });
  });

  test('say why when the order of packets makes no difference', () => {
    const [youtube] = publishedDirections(cells('youtube', 'safari', 'low', alike(200)));
    expect(youtube?.holds).toBe(false);
    expect(youtube?.measured[0]).toContain('published: 46 %');
    expect(youtube?.why).toMatch(/the published sWRR .* loaded in 484 ms where the published RR took 897 ms/);
  });

  test('RR is competitive up to 5 % over the best', () => {
    const rr = (time: number) =>
      publishedDirections(cells('google', 'chrome', 'high', alike(1000, { rr: time })))[2]?.holds;
    expect([rr(900), rr(1049), rr(1060)]).toEqual([true, true, false]);
  });

  test('dWRR has to be the best in completing objects', () => {
    const dwrr = (time: number) =>
      publishedDirections(cells('youtube', 'chrome', 'medium', alike(500, { dwrr: time })))[3]?.holds;
    expect([dwrr(400), dwrr(600)]).toEqual([true, false]);
  });
});

describe('ours', () => {
  const judged = (...times: number[]) =>
    oursAgainstOthers(
      times.flatMap((time, index) =>
        cells(
          'google',
          'chrome',
          (['low', 'medium', 'high'] as const)[index] ?? 'low',
          alike(500, { 'critical-first': time }),
        ),
      ),
      new Map(),
    ).map(({ holds, measured }) => ({ holds, measured }));

  test('has to be the quickest in every cell', () => {
    expect(judged(490, 499)[0]).toEqual({ holds: true, measured: ['2 of 2 cells'] });
    expect(judged(490, 501)[0]).toEqual({
      holds: false,
      measured: ['1 of 2 cells', 'google, chrome, medium: 501 ms, rr 500 ms'],
    });
  });

  test('may be a little later with the critical resources', () => {
    expect(judged(600)[1]).toMatchObject({ holds: true });
  });

  test('is not judged alone', () => {
    expect(
      oursAgainstOthers(
        [someCell({ page: 'google', tree: 'chrome', level: 'low', scheduler: 'critical-first' }, 400)],
        new Map(),
      ).map(({ holds }) => holds),
    ).toEqual([null, null]);
  });

  test('is compared under the same controller, and with others only', () => {
    const beside = { 'critical-first': 490, 'critical-first-bbr': 300, 'critical-first-no-repeats': 480 };
    expect(oursAgainstOthers(cells('google', 'chrome', 'low', alike(500, beside)), new Map())[0]).toMatchObject({
      holds: true,
    });
    expect(
      oursAgainstOthers(
        cells('google', 'chrome', 'low', { 'critical-first': 490, 'critical-first-bbr': 300 }),
        new Map(),
      )[0],
    ).toMatchObject({ holds: null });
  });

  test('is compared seed by seed where it is not the quickest', () => {
    const group = cells('google', 'chrome', 'high', { 'critical-first': 510, rr: 500 });
    const [own, other] = group;
    if (!own || !other) throw new Error('two cells');
    const runs = new Map([
      [cellName(own), [someRun(1, 509), someRun(2, 511)]],
      [cellName(other), [someRun(2, 500), someRun(1, 500)]],
    ]);
    expect(oursAgainstOthers(group, runs)[0]?.measured[1]).toBe(
      'google, chrome, high: 510 ms, rr 500 ms; seed by seed +10.0 (95 % interval −2.7 to +22.7) ms',
    );
  });
});

test('another controller is shown beside the comparison', () => {
  const beside = (time: number) =>
    otherController(
      cells('google', 'chrome', 'high', alike(500, { 'critical-first': 490, 'critical-first-bbr': time })),
    );
  expect(beside(200)).toMatchObject([
    { holds: true, measured: [expect.stringMatching(/^level high: .* with OLIA, .* with BBR/)] },
  ]);
  expect(beside(491)).toMatchObject([{ holds: false }]);
  expect(otherController(cells('google', 'chrome', 'high', alike(500)))).toEqual([]);
});

import { expect, test } from 'vitest';
import { fillBlocks, hasBlocks, type Measurement } from '../../../src/evidence/documents/blocks.js';
import type { Result } from '../../../src/evidence/results/result.js';
import { someArtefact, times } from '../some_artefact.js';

const slow = [100, 102, 98, 101, 99, 100];
const half = [40, 41, 39, 40.5, 39.5, 40];

const artefact = someArtefact((file) => {
  file['published'] = [
    {
      source: 'text',
      statistic: 'median',
      n: 100,
      values: [{ arm: 'fast', quantity: 'time_ms', at: { page: 'news' }, value: 33.25 }],
    },
  ];
  file['setup'].arms.fast.label = 'the fast one';
  file['tables'] = [
    { name: 'by-arm', quantities: ['time_ms'], columns: 'arm', ratio: true, published: true },
    {
      name: 'shops',
      quantities: ['time_ms'],
      columns: 'quantity',
      where: { page: 'shop' },
      arms: ['slow'],
      interval: false,
    },
  ];
});

const result: Result = {
  artefact: artefact.id,
  program: 'p',
  settings: 's',
  quick: false,
  runs: 6,
  seed: 100,
  commit: '0123456789ab',
  machine: { processor: 'A processor', cores: 2, memory_gib: 24, kernel: '6', node: 'v20', load: 0.1 },
  finished: '2026-11-23T03:00:00.000Z',
  seconds: 60,
  versions: { nginx: '1.22.1' },
  skipped: ['a third arm: not installed'],
  cells: [...times(slow, half), ...times(half, slow, 'shop')],
};

const current: Measurement = { artefact, result, virtualTime: false, stale: false, otherSettings: false };

const document = (table: string, content = 'anything'): string =>
  `Before.\n\n<!-- evidence: paper/figure-1 ${table} -->\n${content}\n<!-- end of evidence -->\n\nAfter.\n`;
const fill = (table: string, measurement: Partial<Measurement> = {}): string =>
  fillBlocks(document(table), [{ ...current, ...measurement }]);

test('a block takes its table from the result, with interval, ratio to the baseline and published value', () => {
  const filled = fill('by-arm');
  expect(filled).toContain('| page | slow | the fast one |\n| --- | --- | --- |\n');
  expect(filled).toContain('| news | 100 (98.5 to 102) | 40 (39.3 to 40.8) × 0.4 [33.25] |');
  expect(filled).toContain(
    'Time, ms: median of the runs with 95 % interval; × is the ratio to *slow*; published values in square brackets.',
  );
  expect(filled).toContain('. 6 runs, seeds 100 to 105 · commit 0123456789ab · nginx 1.22.1 · 2026-11-23 · ');
  expect(filled).toContain('load 0.1 before the run');
  expect(filled).toContain('Not measured: a third arm: not installed.');
  expect(filled).toMatch(/^Before\.\n\n<!-- evidence: [^]*<!-- end of evidence -->\n\nAfter\.\n$/);
});

test('a table may have some arms and places alone, and a column for each quantity', () => {
  expect(fill('shops')).toContain('| Time, ms |\n| --- |\n| 40 |\n');
});

test('runs that draw from no seed name none', () => {
  const filled = fill('by-arm', { result: { ...result, seed: undefined } });
  expect(filled).toContain('. 6 runs · commit');
});

test('a maximum has no interval', () => {
  const largest = structuredClone(artefact);
  largest.quantities['time_ms']!.statistic = 'maximum';
  const filled = fill('by-arm', { artefact: largest });
  expect(filled).toContain('| news | 102 | 41 × ');
  expect(filled).toContain('Time, ms: maximum of the runs; ×');
});

test('the 95th percentile of a few runs has no interval, and that of many has one', () => {
  const tail = structuredClone(artefact);
  tail.quantities['time_ms']!.statistic = 'p95';
  expect(fill('by-arm', { artefact: tail })).toContain('| news | 102 | 40.9 × ');
  const often = (values: number[]): number[] =>
    Array.from({ length: 72 }, (_, index) => values[index % values.length]!);
  const many = { ...result, runs: 72, cells: times(often(slow), often(half)) };
  expect(fill('by-arm', { artefact: tail, result: many })).toMatch(/p95 of the runs with 95 % interval[^]*commit/);
  expect(fill('by-arm', { artefact: tail, result: many })).toContain('| 102 (102 to 102) | 41 (41 to 41) × ');
});

test('several statistics of the same values stand in columns of their own', () => {
  const both = structuredClone(artefact);
  both.quantities['median_ms'] = { ...both.quantities['time_ms']!, values: 'time_ms' };
  both.quantities['time_ms']!.statistic = 'maximum';
  both.tables[1]!.quantities = ['median_ms', 'time_ms'];
  expect(fill('shops', { artefact: both })).toContain(
    '| Time, ms, median | Time, ms, maximum |\n| --- | --- |\n| 40 | 41 |',
  );
});

test('a result in virtual time names no machine and no load', () => {
  const filled = fill('by-arm', { virtualTime: true });
  expect(filled).toContain('2026-11-23 · virtual time · 60 s');
  expect(filled).not.toMatch(/load|processor/);
});

test('what other programs used during a run stands beside the load before it', () => {
  const filled = fill('by-arm', { result: { ...result, other_processors: 0.03 } });
  expect(filled).toContain('load 0.1 before the run, other programs used 0.03 processors during it');
});

test('what older code measured is marked in tables and in claims', () => {
  const mark = '**Measured with older code or settings on 2026-11-23';
  expect(fill('by-arm', { stale: true })).toContain(`\n\n${mark}.** Time, ms: median`);
  expect(fill('claims', { stale: true })).toContain(`${mark}:**\n\n- **contradicted**`);
  expect(fill('by-arm') + fill('claims')).not.toContain('older code');
});

test('how busy the machine was before the rounds stands in the caption', () => {
  const before_rounds = { load: { median: 1, largest: 1.5 }, busy: { median: 0.01, largest: 0.07 } };
  expect(fill('by-arm', { result: { ...result, before_rounds } })).toContain(
    'load 0.1 before the run, other programs used at most 0.07 processors before a round',
  );
});

test('a block says over what was measured, and how that differs from what was published', () => {
  const different = structuredClone(artefact);
  different.deviations = [{ what: 'links are wired', why: 'there is no radio', effect: 'none' }];
  expect(fill('setup', { artefact: different, result: undefined })).toContain(
    'Network: none.\n\n- Links are wired. Why: there is no radio. Effect: none.',
  );
});

test('filling a document again changes nothing, and another result changes it', () => {
  const filled = fill('by-arm');
  expect(fillBlocks(filled, [current])).toBe(filled);
  const other = { ...result, cells: times(half, half) };
  expect(fillBlocks(filled, [{ ...current, result: other }])).not.toBe(filled);
});

test('claims are listed with their verdicts and the figures that decided', () => {
  expect(fill('claims')).toMatch(
    /- \*\*contradicted\*\*: fast takes at most half of the time – fast to slow, shop: 2\.5 \([^)]*\) \(fails\); fast to slow, news: 0\.4 \([^)]*\)/,
  );
});

test('every figure that fails is shown, the worst first, and the others are counted', () => {
  const scaled = (factor: number): number[] => slow.map((value) => value * factor);
  const wide = [40, 60, 45, 55, 42, 58];
  const pages: [string, number[]][] = [
    ['holds', half],
    ['ties', scaled(0.51)],
    ['open', wide],
    ...[0.6, 0.9, 0.7, 0.8, 1].map((factor): [string, number[]] => [`factor ${factor}`, scaled(factor)]),
  ];
  const line = fill('claims', {
    result: { ...result, cells: pages.flatMap(([page, fast]) => times(slow, fast, page)) },
  });
  expect([...line.matchAll(/to slow, ([^:]*):/g)].map(([, page]) => page)).toEqual(
    [1, 0.9, 0.8, 0.7, 0.6].map((factor) => `factor ${factor}`),
  );
  expect(line).toContain('\n  - and 1 unknown, 1 tie, 1 holds\n');
});

test('without a result, a block says how to measure', () => {
  expect(fill('by-arm', { result: undefined })).toContain('Not measured yet: `npx sheaf evidence run paper/figure-1`.');
});

test('a table whose values an older set-up did not measure says how to measure them', () => {
  const cells = result.cells.filter(({ at }) => at['page'] !== 'shop');
  expect(fill('shops', { result: { ...result, cells } })).toContain(
    'Not measured yet: `npx sheaf evidence run paper/figure-1`.',
  );
});

test('an unknown artefact or table is refused', () => {
  expect(() => fill('by-page')).toThrow("paper/figure-1 has no table 'by-page'");
  expect(() => fillBlocks(document('by-arm'), [])).toThrow("there is no artefact 'paper/figure-1'");
});

test('a document without blocks is left alone', () => {
  expect(hasBlocks('Some text.\n')).toBe(false);
  expect(hasBlocks(document('by-arm'))).toBe(true);
});

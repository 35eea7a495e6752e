import { expect, test } from 'vitest';
import { bootstrapInterval, median } from '../../../src/measure/statistics.js';
import { seededRandom } from '../../../src/pages/content/random.js';
import { browserReport } from '../../../src/pages/real/browser_report.js';
import { criticalMs, summarizeBrowserCell } from '../../../src/pages/real/browser_cell.js';
import { browserFindings } from '../../../src/pages/real/browser_findings.js';
import type { BrowserCellKey, BrowserRun } from '../../../src/pages/real/browser_run.js';
import { describeMachine } from '../../../src/measure/machine.js';
import { htmlReport } from '../../../src/pages/report/html.js';
import { markdownReport } from '../../../src/pages/report/markdown.js';
import { cellsCsv, runsCsv } from '../../../src/pages/report/csv.js';
import { cellName } from '../../../src/pages/simulation/run_record.js';
import { somePage } from '../some_cells.js';

const key = (scheduler: string): BrowserCellKey => ({ page: 'google', tree: 'extensible', level: 'low', scheduler });

/** The third resource is not asked for. */
function run(seed: number, lcp_ms: number, load_ms = 400): BrowserRun {
  return {
    seed,
    rates_mbps: [32, 56],
    machine_load: 0.5,
    repeats: [],
    fcp_ms: 100,
    lcp_ms,
    lcp_element: '/google/c.png',
    load_ms,
    requested_ms: [0, 30, null],
    first_ms: [20, 50, null],
    done_ms: [60, 120, null],
    links: [
      { datagrams: 100, lost: 1, queue_full: 0 },
      { datagrams: 300, lost: 3, queue_full: 2 },
    ],
  };
}

const rounds = (lcp: number, load?: number): BrowserRun[] =>
  Array.from({ length: 12 }, (_, seed) => run(seed, lcp + (seed % 3), load));

function findingsOf(runs: Record<string, BrowserRun[]>): (boolean | null)[] {
  const keys = Object.keys(runs).map(key);
  return browserFindings(keys, new Map(Object.entries(runs).map(([name, own]) => [cellName(key(name)), own]))).map(
    ({ holds }) => holds,
  );
}

test('ours has to be within chance of each other scheduler in LCP and load event, and before rr in LCP', () => {
  expect(findingsOf({ 'critical-first': rounds(200), rr: rounds(300), fcfs: rounds(200) })).toEqual([true, true, true]);
  expect(findingsOf({ 'critical-first': rounds(200), rr: rounds(300), fcfs: rounds(100) })).toEqual([
    false,
    true,
    true,
  ]);
  expect(findingsOf({ 'critical-first': rounds(200, 400), rr: rounds(300, 350) })).toEqual([true, false, true]);
  expect(findingsOf({ 'critical-first': rounds(310), rr: rounds(300) })).toEqual([false, true, false]);
});

test('a difference that chance makes counts for nothing against ours', () => {
  const noisy = (offset: number): BrowserRun[] =>
    Array.from({ length: 12 }, (_, seed) => run(seed, offset + ((seed * 7919) % 100)));
  expect(
    findingsOf({
      'critical-first': noisy(205),
      fcfs: noisy(200).map((each, index) => ({ ...each, lcp_ms: noisy(200)[(index + 5) % 12]?.lcp_ms ?? 0 })),
    })[0],
  ).toBe(true);
});

test('an interval that is too wide decides nothing', () => {
  const wide = (step: number): BrowserRun[] =>
    Array.from({ length: 6 }, (_, seed) => run(seed, 200 + ((seed * step) % 6) * 400));
  expect(findingsOf({ 'critical-first': wide(5), rr: wide(1) })).toEqual([null, true, null]);
});

test('only rounds that both have are compared', () => {
  expect(findingsOf({ 'critical-first': rounds(200), rr: [] })).toEqual([null, null, null]);
  const [lcp] = browserFindings(
    [key('critical-first'), key('rr')],
    new Map([
      [cellName(key('critical-first')), [run(1, 200), run(2, 900)]],
      [cellName(key('rr')), [run(1, 300)]],
    ]),
  );
  expect(lcp?.measured).toEqual(['200 ms, rr 300 ms: -100 ms (-100 to -100, 1 rounds)']);
});

test('the bootstrap brackets a median, and replays', () => {
  const values = Array.from({ length: 101 }, (_, index) => index);
  const interval = (): [number, number] =>
    bootstrapInterval(
      values.length,
      (chosen) => median(chosen.map((index) => values[index] ?? 0)),
      seededRandom('test'),
    );
  const [low, high] = interval();
  // Of the order statistics of 101 values the binomial interval is 40 to 60.
  expect(low).toBeGreaterThan(35);
  expect(low).toBeLessThan(46);
  expect(high).toBeGreaterThan(54);
  expect(high).toBeLessThan(65);
  expect(interval()).toEqual([low, high]);
});

test('a cell and its report do without the resources that were not asked for', () => {
  const keys = [key('critical-first'), key('rr')];
  const runs = new Map(keys.map((each, index) => [cellName(each), rounds(200 + 50 * index)]));
  const cells = keys.map((each) => summarizeBrowserCell(each, somePage, runs.get(cellName(each)) ?? []));
  expect(cells[0]).toMatchObject({
    runs: 12,
    lcp_ms: { median: 201 },
    critical_ms: { median: 120 },
    object_ms: { median: 90 },
    lost_percent: 1,
    queue_full_percent: 0.5,
    lcp_element: '/google/c.png',
  });
  const report = browserReport({
    machine: describeMachine(),
    parameters: { runs: 12, seed: 0 },
    measured: { browser: 'Chromium 1', pages: [somePage], keys, cells, runs, missing: 0 },
    findings: browserFindings(keys, runs),
  });
  const html = htmlReport(report);
  expect(html.match(/aria-label="Waterfall"/g)).toHaveLength(2);
  expect(html).toContain('c.png, 800000 bytes: not asked for');
  expect(html).not.toMatch(/NaN|undefined|Infinity|\b(src|href)=/);
  expect(markdownReport(report)).toContain('| critical-first | 201.0 (');
  const [head = '', ...lines] = runsCsv(report).trimEnd().split('\n');
  expect(lines).toHaveLength(24);
  expect(lines[0]?.split(',')).toHaveLength(head.split(',').length);
  expect(cellsCsv(report)).toContain('google,extensible,low,rr,olia,12,251,251,');
});

test('a load that did not end counts with the limit, and repeats are counted', () => {
  const slow: BrowserRun = {
    ...run(3, 60_000, 60_000),
    censored: 'the page was not complete after 60000 ms',
    lcp_element: '',
    done_ms: [null, null, null],
    repeats: ['the browser did not start'],
  };
  expect(summarizeBrowserCell(key('rr'), somePage, [run(1, 200), run(2, 200), slow])).toMatchObject({
    runs: 3,
    censored: 1,
    repeats: 1,
    lcp_ms: { median: 200, mean: 20133 },
    critical_ms: { median: 120, mean: 20080 },
    object_ms: { mean: 20060 },
    lcp_element: '/google/c.png',
  });
});

test('a critical resource without a time is an error, not the time 0', () => {
  expect(() => criticalMs(somePage, { ...run(1, 200), done_ms: [60, null, null] })).toThrow(
    new RangeError('a<b>&".css is critical and has no time'),
  );
});

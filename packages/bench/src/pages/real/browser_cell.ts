import { bootstrapInterval, mean, median, round, summary, type Summary } from '../../measure/statistics.js';
import { seededRandom } from '../content/random.js';
import type { Page } from '../simulation/page.js';
import { schedulerNamed } from '../simulation/schedulers.js';
import type { BrowserCellKey, BrowserRun } from './browser_run.js';
import { LOAD_LIMIT_MS } from './page_visit.js';

export interface MedianSummary extends Summary {
  /** 95 % interval of the median, by the bootstrap */
  median_ci95: [number, number];
}

/** The figures of one cell. Times are milliseconds since the navigation. */
export interface BrowserCell extends BrowserCellKey {
  controller: 'olia' | 'bbr';
  runs: number;
  /** Loads that did not end, which count with the limit as their time */
  censored: number;
  /** Repeats after failures of the laboratory */
  repeats: number;
  /** First Contentful Paint */
  fcp_ms: MedianSummary;
  /** Largest Contentful Paint */
  lcp_ms: MedianSummary;
  /** Most frequent element of that paint */
  lcp_element: string;
  /** Start of the load event */
  load_ms: MedianSummary;
  /** Time until HTML, style sheets and scripts are complete */
  critical_ms: MedianSummary;
  /** Mean time from navigation to completion, over the resources of a run */
  object_ms: MedianSummary;
  /** Share of the gateway's datagrams that were lost at random, and that were dropped from a full queue of a link */
  lost_percent: number;
  queue_full_percent: number;
  /** Median of the machine's load average. Above 0.5 per core, times depend on more than the network. */
  machine_load: number;
}

export function summarizeBrowserCell(key: BrowserCellKey, page: Page, runs: readonly BrowserRun[]): BrowserCell {
  const links = runs.flatMap((run) => run.links);
  const sent = sum(links.map(({ datagrams }) => datagrams));
  const percent = (count: number): number => round((100 * count) / Math.max(1, sent), 3);
  return {
    ...key,
    controller: schedulerNamed(key.scheduler).controller ?? 'olia',
    runs: runs.length,
    censored: runs.filter(isCensored).length,
    repeats: sum(runs.map(({ repeats }) => repeats.length)),
    fcp_ms: summarize(runs.map(({ fcp_ms }) => fcp_ms)),
    lcp_ms: summarize(runs.map(({ lcp_ms }) => lcp_ms)),
    lcp_element: mostFrequent(runs.flatMap((run) => (isCensored(run) ? [] : [run.lcp_element]))),
    load_ms: summarize(runs.map(({ load_ms }) => load_ms)),
    critical_ms: summarize(runs.map((run) => criticalMs(page, run))),
    object_ms: summarize(runs.map(objectMs)),
    lost_percent: percent(sum(links.map(({ lost }) => lost))),
    queue_full_percent: percent(sum(links.map(({ queue_full }) => queue_full))),
    machine_load: round(median(runs.map(({ machine_load }) => machine_load)), 3),
  };
}

export const isCensored = ({ censored }: BrowserRun): boolean => censored !== undefined;

/** Returns the time until the critical resources are complete. @throws RangeError when the time of one is missing */
export function criticalMs(page: Page, run: BrowserRun): number {
  if (isCensored(run)) return LOAD_LIMIT_MS;
  const times = page.resources.flatMap(({ critical, path }, index) => {
    if (!critical) return [];
    const time = run.done_ms[index] ?? undefined;
    if (time === undefined) throw new RangeError(`${path} is critical and has no time`);
    return [time];
  });
  return Math.max(...times);
}

/** Returns the mean time until a requested resource is complete. */
export const objectMs = (run: BrowserRun): number =>
  isCensored(run) ? LOAD_LIMIT_MS : mean(run.done_ms.filter((time) => time !== null));

function summarize(values: readonly number[]): MedianSummary {
  const { mean: average, median: middle, p95, ci95 } = summary(values);
  const interval = bootstrapInterval(
    values.length,
    (chosen) => median(chosen.map((index) => values[index] ?? 0)),
    seededRandom('median'),
  );
  return {
    mean: round(average, 5),
    median: round(middle, 5),
    p95: round(p95, 5),
    ci95: ci95 && rounded(ci95),
    median_ci95: rounded(interval),
  };
}

const rounded = ([low, high]: readonly [number, number]): [number, number] => [round(low, 5), round(high, 5)];

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function mostFrequent(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0])[0];
}

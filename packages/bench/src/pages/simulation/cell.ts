import { fairnessIndex, mean, round, summary, type Summary } from '../../measure/statistics.js';
import { lowerBound } from './lower_bound.js';
import { networkAt } from './network.js';
import { criticalTime, type Page } from './page.js';
import { publishedValue, type PublishedValue } from './published_results.js';
import type { CellKey, Run } from './run_record.js';
import { schedulerNamed } from './schedulers.js';

/** The figures of one cell. Times are milliseconds since the requests. */
export interface PagesCell extends CellKey {
  /** Congestion controller */
  controller: 'olia' | 'bbr';
  runs: number;
  /** Time until the last resource is complete */
  plt_ms: Summary;
  /** Time until HTML, style sheets and scripts are complete */
  critical_ms: Summary;
  /** Time of all objects of all runs; its interval is that of a run's mean */
  object_ms: Summary;
  /** Mean arrival time of a byte: the integral of the missing share over time */
  byte_index_ms: Summary;
  /** Mean bound over the runs, which have different rates. With several clients, the bound of one client alone. */
  lower_bound_ms: number;
  /** Mean page load time divided by the bound */
  over_bound: number;
  /** Share of the servers' packets that were lost */
  lost_percent: number;
  /** Jain's index over the page load times of a run's clients, as a mean over the runs; absent with one client */
  fairness?: number;
  published?: PublishedValue;
}

export function summarizeCell(key: CellKey, page: Page, runs: readonly Run[]): PagesCell {
  const loads = runs.flatMap(({ clients }) => clients);
  const network = networkAt(key.level);
  const critical = criticalTime(page);
  const packets = loads.flatMap(({ paths }) => paths);
  const plt = summary(loads.map(({ plt_ms }) => plt_ms));
  const bound = mean(runs.map(({ rates_mbps }) => lowerBound(page.bytes, network, rates_mbps)));
  const { publishedAs, controller = 'olia' } = schedulerNamed(key.scheduler);
  const published = publishedAs && publishedValue(key.page, key.tree, key.level, publishedAs);
  return {
    ...key,
    controller,
    runs: runs.length,
    plt_ms: rounded(plt),
    critical_ms: rounded(summary(loads.map(({ done_ms }) => critical(done_ms)))),
    object_ms: rounded({
      ...summary(loads.flatMap(({ done_ms }) => done_ms)),
      ci95: summary(loads.map(({ done_ms }) => mean(done_ms))).ci95,
    }),
    byte_index_ms: rounded(summary(loads.map(({ byte_index_ms }) => byte_index_ms))),
    lower_bound_ms: round(bound, 5),
    over_bound: round(plt.mean / bound),
    lost_percent: round(
      (100 * sum(packets.map(({ lost }) => lost))) / sum(packets.map(({ packets: sent }) => sent)),
      3,
    ),
    ...(runs.some(({ clients }) => clients.length > 1) && {
      fairness: round(mean(runs.map(({ clients }) => fairnessIndex(clients.map(({ plt_ms }) => plt_ms))))),
    }),
    ...(published && { published }),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function rounded({ mean: average, median, p95, ci95 }: Summary): Summary {
  return {
    mean: round(average, 5),
    median: round(median, 5),
    p95: round(p95, 5),
    ci95: ci95 && [round(ci95[0], 5), round(ci95[1], 5)],
  };
}

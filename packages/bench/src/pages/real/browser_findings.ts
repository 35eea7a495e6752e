import { bootstrapInterval, median, round } from '../../measure/statistics.js';
import { seededRandom } from '../content/random.js';
import type { Finding } from '../simulation/findings.js';
import { cellName } from '../simulation/run_record.js';
import { isRival, OURS, schedulerNamed } from '../simulation/schedulers.js';
import type { BrowserCellKey, BrowserRun } from './browser_run.js';

type Runs = ReadonlyMap<string, readonly BrowserRun[]>;
type Metric = 'lcp_ms' | 'load_ms';
/**
 * Maximum delay of ours, as a share of the other's median, at the end of the interval. A wider interval proves nothing.
 */
const TOLERANCE = 0.2;
const NOT_QUIET = 'is too wide to tell: it takes more rounds or a quieter machine';
const NAMES: Record<Metric, string> = { lcp_ms: 'LCP', load_ms: 'load event' };

/** Our time minus the other's, over the rounds that both have; negative when ours is earlier */
interface Difference {
  other: string;
  ours_ms: number;
  other_ms: number;
  /** 95 % interval of the difference of the medians */
  interval: [number, number];
  rounds: number;
}

/** Judges whether ours is never later than another scheduler, and earlier than RR in LCP. */
export function browserFindings(keys: readonly BrowserCellKey[], runs: Runs): Finding[] {
  return keys
    .filter(({ scheduler }) => scheduler === OURS.name)
    .flatMap((own) => {
      const others = keys.filter(
        (key) =>
          isRival(schedulerNamed(key.scheduler)) &&
          key.page === own.page &&
          key.tree === own.tree &&
          key.level === own.level,
      );
      return [
        ...(['lcp_ms', 'load_ms'] as const).map((metric) => notLater(own, others, runs, metric)),
        ...others.filter(({ scheduler }) => scheduler === 'rr').map((rr) => earlierThanRr(own, rr, runs)),
      ];
    });
}

function notLater(own: BrowserCellKey, others: readonly BrowserCellKey[], runs: Runs, metric: Metric): Finding {
  const claim = `${settingOf(own)}: median ${NAMES[metric]} of ${own.scheduler} not above any other scheduler's, within the 95 % interval of the difference`;
  const differences = others.flatMap((other) => compare(own, other, runs, metric) ?? []);
  if (differences.length === 0) return { claim, holds: null, measured: [] };
  const measured = differences.map(describe);
  const above = differences.filter(({ interval }) => interval[0] > 0);
  if (above.length > 0)
    return { claim, holds: false, measured, why: `${namesOf(above)}: earlier by more than chance makes` };
  const open = differences.filter(({ interval, other_ms }) => interval[1] > TOLERANCE * other_ms);
  if (open.length > 0)
    return { claim, holds: null, measured, why: `the interval against ${namesOf(open)} ${NOT_QUIET}` };
  return { claim, holds: true, measured };
}

function earlierThanRr(own: BrowserCellKey, rr: BrowserCellKey, runs: Runs): Finding {
  const claim = `${settingOf(own)}: median LCP of ${own.scheduler} below that of rr`;
  const difference = compare(own, rr, runs, 'lcp_ms');
  if (!difference) return { claim, holds: null, measured: [] };
  const [low, high] = difference.interval;
  const measured = [describe(difference)];
  if (high < 0) return { claim, holds: true, measured };
  if (low <= 0 && low < high)
    return { claim, holds: null, measured, why: `the interval has 0 in it, and ${NOT_QUIET}` };
  const painted = [
    ...new Set([own, rr].flatMap((key) => (runs.get(cellName(key)) ?? []).map(({ lcp_element }) => lcp_element))),
  ].join(', ');
  return { claim, holds: false, measured, why: `rr brings what is painted (${painted}) no later` };
}

const namesOf = (differences: readonly Difference[]): string => differences.map(({ other }) => other).join(', ');

/**
 * Compares two schedulers. Resamples rounds and not runs, since a disturbance of one run also affects its neighbors in
 * the round.
 */
function compare(own: BrowserCellKey, other: BrowserCellKey, runs: Runs, metric: Metric): Difference | undefined {
  const bySeed = new Map((runs.get(cellName(other)) ?? []).map((run) => [run.seed, run[metric]]));
  const pairs = (runs.get(cellName(own)) ?? []).flatMap((run) => {
    const value = bySeed.get(run.seed);
    return value === undefined ? [] : [[run[metric], value] as const];
  });
  if (pairs.length === 0) return undefined;
  const medians = (chosen: readonly (readonly [number, number])[]): [number, number] => [
    median(chosen.map(([value]) => value)),
    median(chosen.map(([, value]) => value)),
  ];
  const difference = (chosen: readonly number[]): number => {
    const [ours, theirs] = medians(chosen.flatMap((index) => [pairs[index] ?? [0, 0]]));
    return ours - theirs;
  };
  const [ours_ms, other_ms] = medians(pairs);
  return {
    other: other.scheduler,
    ours_ms,
    other_ms,
    interval: bootstrapInterval(pairs.length, difference, seededRandom('difference')),
    rounds: pairs.length,
  };
}

const settingOf = ({ page, tree, level }: BrowserCellKey): string => `${page}, ${tree}, ${level}`;

function describe({ other, ours_ms, other_ms, interval, rounds }: Difference): string {
  return `${Math.round(ours_ms)} ms, ${other} ${Math.round(other_ms)} ms: ${signed(ours_ms - other_ms)} ms (${signed(interval[0])} to ${signed(interval[1])}, ${rounds} rounds)`;
}

const signed = (value: number): string => `${value > 0 ? '+' : ''}${round(value, 3)}`;

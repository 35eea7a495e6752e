import { round } from '../../measure/statistics.js';
import type { Result } from '../results/result.js';
import type { Figure } from '../verdict/figure.js';

/** Formats a figure with its interval: "1.23 (1.1 to 1.4)". */
export function figureText({ value, interval }: Figure): string {
  return `${round(value, 4)}${interval ? ` (${round(interval[0], 4)} to ${round(interval[1], 4)})` : ''}`;
}

/** Describes when, on which machine, beside which versions and how a result was measured. */
export function measuredText({ commit, machine, finished, runs, seed, quick, seconds, versions }: Result): string {
  const versionTexts = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${runs} runs${seed === undefined ? '' : `, seeds ${seed} to ${seed + runs - 1}`}${quick ? ' (quick run)' : ''}`,
    `commit ${commit}`,
    ...(versionTexts.length > 0 ? [versionTexts.join(', ')] : []),
    finished.slice(0, 10),
    `${machine.processor}, ${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}`,
    `load ${machine.load} before the run`,
    `${seconds} s`,
  ].join(' · ');
}

import { round } from '../../measure/statistics.js';
import type { Result } from '../results/result.js';
import type { Figure } from '../verdict/figure.js';

/** Formats a figure with its interval: "1.23 (1.1 to 1.4)". */
export function figureText({ value, interval }: Figure): string {
  return `${round(value, 4)}${interval ? ` (${round(interval[0], 4)} to ${round(interval[1], 4)})` : ''}`;
}

/**
 * Describes when, on which machine, beside which versions and how a result was measured. In virtual time the machine and
 * its load change nothing.
 */
export function measuredText(result: Result, virtualTime: boolean): string {
  const { commit, machine, finished, runs, seed, quick, seconds, versions } = result;
  const versionTexts = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${runs} runs${seed === undefined ? '' : `, seeds ${seed} to ${seed + runs - 1}`}${quick ? ' (quick run)' : ''}`,
    `commit ${commit}`,
    ...(versionTexts.length > 0 ? [versionTexts.join(', ')] : []),
    finished.slice(0, 10),
    ...(virtualTime
      ? ['virtual time']
      : [
          `${machine.processor}, ${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}`,
          loadText(result),
        ]),
    `${seconds} s`,
  ].join(' · ');
}

/** Says how busy the machine was: before the run and its rounds, and with other programs where that is known. */
const loadText = ({ machine, before_rounds: rounds, other_processors: others }: Result): string =>
  [
    `load ${machine.load} before the run`,
    ...(rounds ? [`other programs used at most ${rounds.busy.largest} processors before a round`] : []),
    ...(others === undefined ? [] : [`other programs used ${others} processors during it`]),
  ].join(', ');

/** Marks figures that the present code or set-up did not make. */
export const staleText = (result: Result): string =>
  `Measured with older code or settings on ${result.finished.slice(0, 10)}`;

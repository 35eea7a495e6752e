import type { PublishedName } from './published_results.js';

/** A stream scheduler with its settings */
export interface SchedulerChoice {
  name: string;
  /** The engine's name of the stream scheduler, if it differs */
  streams?: string;
  /** Path scheduler */
  paths: 'min-rtt' | 'ecf';
  /** Whether to repeat data on a faster path that would arrive late at the end */
  repeatsLate?: boolean;
  /** Congestion controller; the default is OLIA, as in the published program */
  controller?: 'bbr';
  /**
   * As the papers describe it, as the published program has it where that differs, ours, ours without a part of it, or
   * another
   */
  kind: 'published' | 'released' | 'ours' | 'ablation' | 'other';
  /** Name in the published results */
  publishedAs?: PublishedName;
}

/** Schedulers in the order of reports */
export const SCHEDULERS: readonly SchedulerChoice[] = [
  { name: 'critical-first', paths: 'ecf', repeatsLate: true, kind: 'ours' },
  {
    name: 'critical-first-bbr',
    streams: 'critical-first',
    paths: 'ecf',
    repeatsLate: true,
    controller: 'bbr',
    kind: 'ours',
  },
  { name: 'fcfs', paths: 'min-rtt', kind: 'other' },
  { name: 'rr', paths: 'min-rtt', kind: 'published', publishedAs: 'RR' },
  { name: 'wrr', paths: 'min-rtt', kind: 'published', publishedAs: 'WRR' },
  { name: 'wrr-burst', paths: 'min-rtt', kind: 'released', publishedAs: 'WRR' },
  { name: 'swrr', paths: 'min-rtt', kind: 'published', publishedAs: 'sWRR' },
  { name: 'swrr-released', paths: 'min-rtt', kind: 'released', publishedAs: 'sWRR' },
  { name: 'dwrr', paths: 'min-rtt', kind: 'published', publishedAs: 'dWRR' },
  { name: 'dwrr-root-only', paths: 'min-rtt', kind: 'released', publishedAs: 'dWRR' },
  { name: 'sa-ecf', paths: 'min-rtt', kind: 'published', publishedAs: 'SA-ECF' },
  { name: 'sa-ecf-released', paths: 'min-rtt', kind: 'released', publishedAs: 'SA-ECF' },
  { name: 'rfc9218', paths: 'min-rtt', kind: 'other' },
  { name: 'critical-first-no-repeats', streams: 'critical-first', paths: 'ecf', kind: 'ablation' },
  { name: 'critical-first-min-rtt', streams: 'critical-first', paths: 'min-rtt', repeatsLate: true, kind: 'ablation' },
  { name: 'critical-first-order-only', streams: 'critical-first', paths: 'min-rtt', kind: 'ablation' },
  { name: 'wrr-our-paths', streams: 'wrr', paths: 'ecf', repeatsLate: true, kind: 'ablation' },
  { name: 'rfc9218-our-paths', streams: 'rfc9218', paths: 'ecf', repeatsLate: true, kind: 'ablation' },
];

export const SCHEDULER_NAMES: readonly string[] = SCHEDULERS.map(({ name }) => name);
/** Names without those that measure only a part of ours */
export const COMPARED_NAMES: readonly string[] = SCHEDULERS.filter(({ kind }) => kind !== 'ablation').map(
  ({ name }) => name,
);

export function schedulerNamed(name: string): SchedulerChoice {
  const found = SCHEDULERS.find((candidate) => candidate.name === name);
  if (!found) throw new RangeError(`no scheduler ${name}`);
  return found;
}

/** The engine's default */
export const OURS: SchedulerChoice = schedulerNamed('critical-first');
export const OURS_WITH_BBR = 'critical-first-bbr';

/**
 * Returns whether a scheduler competes with ours: it is neither ours in another form, nor has another congestion
 * controller.
 */
export const isRival = ({ kind, controller }: SchedulerChoice): boolean =>
  kind !== 'ours' && kind !== 'ablation' && controller === undefined;

/** Returns the name, with the congestion controller if that differs from the others. */
export const labelOf = (name: string): string =>
  schedulerNamed(name).controller === 'bbr' ? `${name} (BBR instead of OLIA)` : name;

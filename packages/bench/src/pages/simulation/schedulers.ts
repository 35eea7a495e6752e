import type { PublishedName } from './published_results.js';

/** A stream scheduler and what comes with it. */
export interface SchedulerChoice {
  name: string;
  /** Which path carries a packet. */
  paths: 'min-rtt' | 'ecf';
  /** Sends again on a faster path what would arrive late at the end. */
  repeatsLate?: boolean;
  /** As the papers mean it, as the published program has it where that differs, ours, or another. */
  kind: 'published' | 'released' | 'ours' | 'other';
  /** Its name in the published results. */
  publishedAs?: PublishedName;
}

/** In the order of reports. */
export const SCHEDULERS: readonly SchedulerChoice[] = [
  { name: 'critical-first', paths: 'ecf', repeatsLate: true, kind: 'ours' },
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
];

export const SCHEDULER_NAMES: readonly string[] = SCHEDULERS.map(({ name }) => name);

export function schedulerNamed(name: string): SchedulerChoice {
  const found = SCHEDULERS.find((candidate) => candidate.name === name);
  if (!found) throw new RangeError(`no scheduler ${name}`);
  return found;
}

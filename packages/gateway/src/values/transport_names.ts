import type { CongestionControl, PathScheduler, StreamScheduler } from '@sheaf/native';

/** Names of congestion controllers in configuration files */
export const congestionNames = ['cubic', 'newreno', 'bbr', 'olia'] as const;
export type CongestionName = (typeof congestionNames)[number];

export const pathSchedulerNames = [
  'ecf',
  'min-rtt',
  'round-robin',
  'weighted',
  'blest',
  'redundant',
  'backup-only',
] as const satisfies readonly PathScheduler[];

export const streamSchedulerNames = [
  'critical-first',
  'rfc9218',
  'fcfs',
  'rr',
  'wrr',
  'wrr-burst',
  'swrr',
  'swrr-released',
  'dwrr',
  'dwrr-root-only',
  'sa-ecf',
  'sa-ecf-released',
] as const satisfies readonly StreamScheduler[];

/** Returns the transport's name of a congestion controller. */
export function congestionControl(name: CongestionName): CongestionControl {
  return name === 'newreno' ? 'new_reno' : name;
}

/** An arm: whose proxy there is, and whose client carries packets to it. The download inside is the same in all of them. */
export const ARMS = {
  sheaf: { proxy: 'sheaf', carrier: 'masque-go' },
  'masque-go': { proxy: 'masque-go', carrier: 'masque-go' },
  'sheaf-by-sheaf': { proxy: 'sheaf', carrier: 'sheaf' },
  'masque-go-by-sheaf': { proxy: 'masque-go', carrier: 'sheaf' },
  /** The same download without a proxy */
  direct: { proxy: 'none', carrier: 'none' },
} as const;
export type ArmName = keyof typeof ARMS;
export const ARM_NAMES = Object.keys(ARMS) as ArmName[];

export type ProxyName = Exclude<(typeof ARMS)[ArmName]['proxy'], 'none'>;
export type CarrierName = Exclude<(typeof ARMS)[ArmName]['carrier'], 'none'>;

/** Where an arm is measured */
export interface Place {
  /** Downloads at one time. Each has a tunnel on a connection of its own, and its part of the bytes. */
  clients: number;
  /** Share of one processor that the proxy may use; 1: it is not limited */
  quota: number;
}

export interface Plan extends Place {
  arm: ArmName;
}

/** One run: all downloads, from their requests until the last byte of the last one */
export interface Sample {
  seconds: number;
  /** Processor time of each program; 0 where there is none */
  proxy_cpu_s: number;
  carrier_cpu_s: number;
  server_cpu_s: number;
  client_cpu_s: number;
  /** Most memory of the proxy that was resident at one time, since its start */
  proxy_rss_mib: number;
}

export const describePlan = ({ arm, clients, quota }: Plan): string =>
  `${arm}, ${clients} at once${quota < 1 ? `, a quota of ${quota}` : ''}`;

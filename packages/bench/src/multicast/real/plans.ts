/** An arm: who sends, how receivers know that it did, and whether it sends at a rate that it is told */
export const ARMS = {
  /** A channel, whose packets are the source's by signatures over many of them */
  signed: { sender: 'channel', authentication: 'signed', paced: true },
  plain: { sender: 'channel', authentication: 'none', paced: true },
  /** Downloads from the same gateway over HTTP/3 */
  unicast: { sender: 'unicast', authentication: 'tls', paced: false },
  /** AES-GCM with a key that all receivers have */
  uftp: { sender: 'uftp', authentication: 'group-key', paced: true },
  /** NORM has no authentication. */
  norm: { sender: 'norm', authentication: 'none', paced: true },
} as const;
export type ArmName = keyof typeof ARMS;
export const ARM_NAMES = Object.keys(ARMS) as ArmName[];

/** Where an arm is measured */
export interface Place {
  receivers: number;
  /** Share of the datagrams to receivers that are lost on the way */
  loss_percent: number;
}

export interface Plan extends Place {
  arm: ArmName;
  /** At which the sender sends; null: as fast as its congestion control permits */
  rate_mbps: number | null;
}

/** One transfer of the file to all receivers */
export interface Sample {
  /** From the begin of sending until the last receiver has the whole file */
  seconds: number;
  source_cpu_s: number;
  /** All receivers together */
  receivers_cpu_s: number;
  /** Packets that reached hosts without a receiver */
  strayed: number;
}

export const describePlan = ({ arm, receivers, loss_percent, rate_mbps }: Plan): string =>
  `${arm}, ${receivers} receivers, loss ${loss_percent} %${rate_mbps === null ? '' : `, ${rate_mbps} Mbit/s`}`;

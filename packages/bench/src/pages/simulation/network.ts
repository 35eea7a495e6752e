/** Levels of dynamicity, with real loss */
export const LEVELS = ['low', 'medium', 'high'] as const;
/**
 * The same, and two levels with netem's own arithmetic: averaged draws, so that hardly anything is lost, and jitter
 * that reorders packets
 */
export const ALL_LEVELS = [...LEVELS, 'medium-netem', 'high-netem'] as const;
export type LevelName = (typeof ALL_LEVELS)[number];

/** One access link, the same in both directions */
export interface AccessLink {
  name: string;
  /** Range from which each run draws its rate uniformly */
  mbps: readonly [number, number];
  /** One-way delay */
  delay_ms: number;
  /** Jitter, uniformly around the delay */
  jitter_ms: number;
  loss_percent: number;
}

export interface Network {
  links: readonly AccessLink[];
  /** Rate of the server's link, which both paths cross */
  server_mbps: number;
  /** Capacity of an access link's queue in each direction, in bytes */
  queue_bytes: number;
  loss_correlation: number;
  jitter_correlation: number;
  /** Whether correlated draws are averaged, and jitter reorders packets */
  netem: boolean;
}

export const PACKET_BYTES = 1350;
export const INITIAL_WINDOW_PACKETS = 32;
/** Files that are fetched before the page, so that the connection is warm */
export const WARM_FILES = { count: 4, bytes: 2619 };
/** Limit of 1000 packets, the default of netem */
const QUEUE_PACKETS = 1000;

const DYNAMICITY: Record<(typeof LEVELS)[number], { jitter_ms: number; loss_percent: number }[]> = {
  low: [
    { jitter_ms: 0, loss_percent: 0 },
    { jitter_ms: 0, loss_percent: 0 },
  ],
  medium: [
    { jitter_ms: 0.8, loss_percent: 1.5 },
    { jitter_ms: 1.2, loss_percent: 1.5 },
  ],
  high: [
    { jitter_ms: 0.8, loss_percent: 1.5 },
    { jitter_ms: 2.4, loss_percent: 3 },
  ],
};

/** Returns the network of "A novel framework for HTTP/2 over MPQUIC" (2025), §4.1, at a level of dynamicity. */
export function networkAt(level: LevelName): Network {
  const netem = level.endsWith('-netem');
  const [lte, wifi] = DYNAMICITY[(netem ? level.slice(0, -'-netem'.length) : level) as (typeof LEVELS)[number]];
  if (!lte || !wifi) throw new RangeError(`no level ${level}`);
  return {
    links: [
      { name: 'LTE', mbps: [30, 35], delay_ms: 10, ...lte },
      { name: 'Wi-Fi', mbps: [55, 60], delay_ms: 15, ...wifi },
    ],
    server_mbps: 300,
    queue_bytes: QUEUE_PACKETS * PACKET_BYTES,
    loss_correlation: 0.5,
    jitter_correlation: 0.75,
    netem,
  };
}

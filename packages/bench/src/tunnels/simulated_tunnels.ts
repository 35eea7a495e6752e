import { z } from 'zod';
import { buildNativeBench } from '../process/cmake.js';
import { parseJsonLines } from '../process/json_lines.js';
import { runProgram } from '../process/run_program.js';

export const TUNNEL_MODES = ['stream', 'stream-group', 'datagram', 'retransmit', 'forward'] as const;
export const TUNNEL_CONTROLLERS = ['none', 'bbr_v1', 'bbr', 'cubic', 'new_reno'] as const;
/** What servers do with the tunnel's reports: nothing, TECC as published, TECC with units that fit, or credit */
export const OBEDIENCE = ['off', 'literal', 'mended', 'credit'] as const;

/** What tunnels carry packets with, in the terms of `tunnel_bench` */
export interface TunnelArm {
  mode: (typeof TUNNEL_MODES)[number];
  /** Streams of a group */
  streams: number;
  /** Congestion control of the tunnel */
  outer: (typeof TUNNEL_CONTROLLERS)[number];
  /** At the tunnel: `unbounded`, `codel` or a number of bytes */
  queue: string;
  repeats_first: boolean;
  /** Whether the flows of a tunnel take turns */
  fair: boolean;
  tecc: (typeof OBEDIENCE)[number];
  /** Weight of the latest report in the moving average of TECC */
  tecc_weight: number;
  /** Packets of a round trip that TECC adds to the rate */
  tecc_additive: number;
  /** Whether credit ignores what the tunnel served in silence */
  skips_outages: boolean;
  /** Whether servers adapt to repaired packets that come late */
  tolerates: boolean;
  /** Whether clients tell the tunnel's rate with their request */
  warm_start: boolean;
  /** Whether probes of the tunnel do not back off */
  probes_steadily: boolean;
  /** How often packets in flight are copied while the tunnel is idle */
  idle_copies: number;
}

/** The link between client and tunnel, and what inner connections do without reports */
export interface TunnelPlace {
  /** Shares of the packets that are lost */
  loss: { down: number; up: number };
  /** Between client and tunnel, each way */
  mbps: number;
  /** File in mahimahi's format, in place of the rate towards the client */
  trace?: string;
  link_queue_bytes: number;
  inner: (typeof TUNNEL_CONTROLLERS)[number];
  /** End of a run that does not finish */
  limit_s: number;
}

/** A download through a tunnel */
export interface TunnelSetting extends TunnelArm, TunnelPlace {
  bytes: number;
  /** Standard deviation of the logarithm of `bytes` */
  spread: number;
  /** Client to server through the tunnel */
  server_rtt_ms: number;
  /** Client to the tunnel's server */
  tunnel_rtt_ms: number;
  /** That another connection transfers before */
  warm_bytes: number;
  /** Place in the trace; default: any, with the seed */
  offset_s?: number;
}

/** An endless download that shares the slow link with others */
export interface SharingFlow {
  tunnel: number;
  server_rtt_ms: number;
  tunnel_rtt_ms: number;
  start_s: number;
  stop_s: number;
}

/** A line of `tunnel_bench` */
export const tunnelRunSchema = z.object({
  seed: z.number(),
  /** Digest of all datagrams with their times, equal for equal runs */
  digest: z.string(),
  /** Whether the whole download arrived intact */
  finished: z.boolean(),
  completion_ms: z.number(),
  /** What nothing can be faster than */
  bound_ms: z.number(),
  received: z.number(),
  delay_mean_ms: z.number(),
  delay_p50_ms: z.number(),
  delay_p95_ms: z.number(),
  delay_p99_ms: z.number(),
  inner_sent: z.number(),
  inner_lost: z.number(),
  outer_sent: z.number(),
  outer_lost: z.number(),
  outer_repeats: z.number(),
  outer_copies: z.number(),
  queue_mean: z.number(),
  queue_p50: z.number(),
  queue_p95: z.number(),
  queue_dropped: z.number(),
  link_dropped: z.number(),
  /** Packets towards the client, all layers */
  link_sent: z.number(),
  /** For how long the queue at the tunnel was never empty, at most */
  standing_ms: z.number(),
  inner_rtt_p50_ms: z.number(),
  inner_rtt_p95_ms: z.number(),
  inner_rtt_max_ms: z.number(),
});
export type TunnelRun = z.output<typeof tunnelRunSchema>;

/** A line of `tunnel_bench` about endless downloads */
export const sharedRunSchema = z.object({
  seed: z.number(),
  digest: z.string(),
  intact: z.boolean(),
  /** Between two starts or ends of flows, of whose last seconds these are */
  stages: z.array(z.object({ end_s: z.number(), flows: z.number(), jain: z.number(), mbps: z.number() })),
  rtt_p95_ms: z.number(),
});
export type SharedRun = z.output<typeof sharedRunSchema>;

const describeArm = (arm: TunnelArm): string[] => [
  `mode ${arm.mode}`,
  `streams ${arm.streams}`,
  `queue ${arm.queue}`,
  `repeats_first ${Number(arm.repeats_first)}`,
  `fair ${Number(arm.fair)}`,
  `warm_start ${Number(arm.warm_start)}`,
  `probes_steadily ${Number(arm.probes_steadily)}`,
  `idle_copies ${arm.idle_copies}`,
  ...(arm.tecc === 'off' ? [] : [...describeObedience(arm), `tolerates ${Number(arm.tolerates)}`]),
];

const describeObedience = ({ tecc, tecc_weight, tecc_additive, skips_outages }: TunnelArm): string[] =>
  tecc === 'credit'
    ? ['credit 0.25 0.5 1.25', `skips_outages ${Number(skips_outages)}`]
    : [`tecc ${tecc} ${tecc_weight}`, `drain ${2 / 3} ${tecc_additive}`];

const describePlace = ({ outer, inner, loss, mbps, trace, ...place }: TunnelArm & TunnelPlace): string[] => [
  `congestion ${outer} ${inner}`,
  `loss ${loss.down} ${loss.up}`,
  `rate ${mbps}`,
  ...(trace === undefined ? [] : [`trace ${trace}`]),
  `link_queue ${place.link_queue_bytes}`,
  `limit ${place.limit_s}`,
];

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;

/** Describes a download in the format that `tunnel_bench` reads. */
export const describeTunnel = (setting: TunnelSetting): string =>
  lines([
    ...describeArm(setting),
    ...describePlace(setting),
    `bytes ${setting.bytes}`,
    `spread ${setting.spread}`,
    `round_trips ${setting.server_rtt_ms} ${setting.tunnel_rtt_ms}`,
    `warm ${setting.warm_bytes}`,
    ...(setting.offset_s === undefined ? [] : [`offset ${setting.offset_s}`]),
  ]);

/** Describes endless downloads in the format that `tunnel_bench` reads. */
export const describeShared = (setting: TunnelArm & TunnelPlace, flows: readonly SharingFlow[]): string =>
  lines([
    ...describeArm(setting),
    ...describePlace(setting),
    ...flows.map(
      ({ tunnel, server_rtt_ms, tunnel_rtt_ms, start_s, stop_s }) =>
        `flow ${tunnel} ${server_rtt_ms} ${tunnel_rtt_ms} ${start_s} ${stop_s}`,
    ),
  ]);

/** Builds the program of tunnels. Returns its path. @throws UserError when tools are missing */
export const buildTunnels = (progress: (line: string) => void): Promise<string> =>
  buildNativeBench('tunnel_bench', progress);

interface Seeds {
  runs: number;
  seed: number;
}

/** Runs a setting with several seeds, in virtual time. @throws UserError */
export async function simulateTunnels<Run>(
  program: string,
  described: string,
  schema: z.ZodType<Run>,
  { runs, seed }: Seeds,
): Promise<Run[]> {
  const output = await runProgram(program, [String(seed), String(runs)], { input: described });
  return parseJsonLines(output, schema);
}

/** Share of the packets that the tunnel's server and the server sent in vain or once more, of all that both sent */
export function retransmissionShare({
  outer_sent,
  outer_lost,
  outer_repeats,
  inner_sent,
  inner_lost,
}: TunnelRun): number {
  const again = Math.max(outer_repeats, outer_lost) + inner_lost;
  return again / Math.max(1, outer_sent + inner_sent);
}

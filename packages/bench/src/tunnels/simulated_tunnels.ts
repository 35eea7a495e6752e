import { z } from 'zod';
import { buildNativeBench } from '../process/cmake.js';
import { parseJsonLines } from '../process/json_lines.js';
import { runProgram } from '../process/run_program.js';

export const TUNNEL_MODES = ['stream', 'stream-group', 'datagram', 'retransmit', 'forward'] as const;
export const TUNNEL_CONTROLLERS = ['none', 'bbr_v1', 'bbr', 'cubic', 'new_reno'] as const;

/** A download through a tunnel, in the terms of `tunnel_bench` */
export interface TunnelSetting {
  mode: (typeof TUNNEL_MODES)[number];
  /** Streams of a group */
  streams: number;
  bytes: number;
  /** Client to server through the tunnel */
  server_rtt_ms: number;
  /** Client to the tunnel's server */
  tunnel_rtt_ms: number;
  /** Shares of the packets, between client and tunnel */
  loss: { down: number; up: number };
  /** Between client and tunnel, each way */
  mbps: number;
  /** File in mahimahi's format, in place of the rate towards the client */
  trace?: string;
  /** Congestion control of the tunnel, and of the connection in it */
  outer: (typeof TUNNEL_CONTROLLERS)[number];
  inner: (typeof TUNNEL_CONTROLLERS)[number];
  /** Whether the server obeys the tunnel's reports (TECC): as published, or with units that fit */
  tecc: 'off' | 'literal' | 'mended';
  /** Weight of the latest report in the moving average of TECC */
  tecc_weight: number;
  /** At the tunnel: `unbounded`, `codel` or a number of bytes */
  queue: string;
  link_queue_bytes: number;
  /** That another connection transfers before */
  warm_bytes: number;
}

/** A line of `tunnel_bench` */
export const tunnelRunSchema = z.object({
  seed: z.number(),
  /** Digest of all datagrams with their times, equal for equal runs */
  digest: z.string(),
  /** Whether the whole download arrived intact */
  finished: z.boolean(),
  completion_ms: z.number(),
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
  queue_mean: z.number(),
  queue_p50: z.number(),
  queue_p95: z.number(),
  queue_dropped: z.number(),
  link_dropped: z.number(),
  inner_rtt_p50_ms: z.number(),
  inner_rtt_p95_ms: z.number(),
});
export type TunnelRun = z.output<typeof tunnelRunSchema>;

/** Describes the setting in the format that `tunnel_bench` reads. */
export const describeTunnel = ({ loss, ...setting }: TunnelSetting): string =>
  [
    `mode ${setting.mode}`,
    `streams ${setting.streams}`,
    `bytes ${setting.bytes}`,
    `round_trips ${setting.server_rtt_ms} ${setting.tunnel_rtt_ms}`,
    `loss ${loss.down} ${loss.up}`,
    `rate ${setting.mbps}`,
    ...(setting.trace === undefined ? [] : [`trace ${setting.trace}`]),
    `congestion ${setting.outer} ${setting.inner}`,
    `queue ${setting.queue}`,
    ...(setting.tecc === 'off' ? [] : [`tecc ${setting.tecc} ${setting.tecc_weight}`]),
    `link_queue ${setting.link_queue_bytes}`,
    `warm ${setting.warm_bytes}`,
    '',
  ].join('\n');

/** Builds the program of tunnels. Returns its path. @throws UserError when tools are missing */
export const buildTunnels = (progress: (line: string) => void): Promise<string> =>
  buildNativeBench('tunnel_bench', progress);

/** Runs a setting with several seeds, in virtual time. @throws UserError */
export async function simulateTunnels(
  program: string,
  setting: TunnelSetting,
  { runs, seed }: { runs: number; seed: number },
): Promise<TunnelRun[]> {
  const output = await runProgram(program, [String(seed), String(runs)], { input: describeTunnel(setting) });
  return parseJsonLines(output, tunnelRunSchema);
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

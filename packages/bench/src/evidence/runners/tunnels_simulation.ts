import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { tunnelArmSchema } from '../../tunnels/arms.js';
import {
  buildTunnels,
  describeTunnel,
  retransmissionShare,
  simulateTunnels,
  TUNNEL_CONTROLLERS,
  tunnelRunSchema,
  type TunnelRun,
  type TunnelSetting,
} from '../../tunnels/simulated_tunnels.js';
import { meanRate, readRates, toOpportunities, TRACES, tracesFolder } from '../../tunnels/traces.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const count = z.number().int().min(0);
const milliseconds = z.number().positive();

const optionsSchema = z.strictObject({
  sizes: z.array(z.number().int().min(1)).min(1),
  /** Standard deviation of the logarithm of a size, which is the median then */
  spread: z.number().min(0).default(0),
  /** Client to the tunnel's server */
  tunnel_rtts_ms: z.array(milliseconds).min(1),
  /** The tunnel's server to the server */
  beyond_tunnel_ms: milliseconds,
  /** Shares of the packets towards the client that are lost */
  losses: z.array(z.number().min(0).max(1)).min(1),
  /** Mbit/s between client and tunnel: links of a constant rate */
  rates: z.array(z.number().positive()).default([]),
  /** Links whose rate towards the client changes as recorded */
  traces: z.array(z.enum(TRACES)).default([]),
  /** Place in the traces at which the simulation begins; default: any */
  offset_s: z.number().min(0).optional(),
  /** End of a run that does not finish */
  limit_s: z.number().positive().default(300),
  inner: z.enum(TUNNEL_CONTROLLERS),
  link_queue_bytes: count,
  warm_bytes: count,
});
type Options = z.output<typeof optionsSchema>;
type ArmSettings = z.output<typeof tunnelArmSchema>;

/** What the runs of a place are worth */
export const tunnelQuantities: Readonly<Record<string, (run: TunnelRun) => number>> = {
  completion_ms: ({ completion_ms }) => completion_ms,
  bound_ratio: ({ completion_ms, bound_ms }) => completion_ms / bound_ms,
  finished_share: ({ finished }) => Number(finished),
  delay_p50_ms: ({ delay_p50_ms }) => delay_p50_ms,
  delay_p95_ms: ({ delay_p95_ms }) => delay_p95_ms,
  retransmission_share: retransmissionShare,
  inner_lost_share: ({ inner_lost, inner_sent }) => inner_lost / Math.max(1, inner_sent),
  link_packets: ({ link_sent }) => link_sent,
  queue_mean_kb: ({ queue_mean }) => queue_mean / 1e3,
  queue_p95_kb: ({ queue_p95 }) => queue_p95 / 1e3,
  standing_ms: ({ standing_ms }) => standing_ms,
  inner_rtt_p95_ms: ({ inner_rtt_p95_ms }) => inner_rtt_p95_ms,
  inner_rtt_max_ms: ({ inner_rtt_max_ms }) => inner_rtt_max_ms,
};

interface Place {
  bytes: number;
  loss: number;
  tunnelRttMs: number;
  link: Link;
}

interface Link {
  name: string;
  /** The mean, if there is a trace */
  mbps: number;
  trace?: string;
}

const settingAt = (
  { beyond_tunnel_ms, inner, link_queue_bytes, warm_bytes, spread, limit_s, offset_s }: Options,
  { queue, ...arm }: ArmSettings,
  { bytes, loss, tunnelRttMs, link: { mbps, trace } }: Place,
): TunnelSetting => ({
  ...arm,
  inner,
  server_rtt_ms: tunnelRttMs + beyond_tunnel_ms,
  tunnel_rtt_ms: tunnelRttMs,
  link_queue_bytes,
  warm_bytes,
  bytes,
  spread,
  limit_s,
  mbps,
  ...(trace !== undefined && { trace }),
  ...(offset_s !== undefined && { offset_s }),
  loss: { down: loss, up: 0 },
  queue: queue === 'bdp' ? String(Math.round((mbps * 1e6 * tunnelRttMs) / 8e3)) : queue,
});

/** Returns the links of the options. Writes traces to files in a directory. */
async function linksOf({ rates, traces }: Options, directory: string): Promise<Link[]> {
  const changing = await Promise.all(
    traces.map(async (name) => {
      const recorded = await readRates(name);
      const trace = join(directory, `${name}.down`);
      await mkdir(directory, { recursive: true });
      await writeFile(trace, toOpportunities(recorded));
      return { name, mbps: meanRate(recorded), trace };
    }),
  );
  return [...rates.map((mbps) => ({ name: `${mbps} Mbit/s`, mbps })), ...changing];
}

const axisOf = ({ name, mbps, trace }: Link): { mbps: number } | { link: string } =>
  trace === undefined ? { mbps } : { link: name };

function placesOf({ sizes, losses, tunnel_rtts_ms }: Options, links: readonly Link[]): Place[] {
  return sizes.flatMap((bytes) =>
    losses.flatMap((loss) =>
      tunnel_rtts_ms.flatMap((tunnelRttMs) => links.map((link) => ({ bytes, loss, tunnelRttMs, link }))),
    ),
  );
}

/** Simulates downloads through a tunnel with one lossy link, in virtual time. */
export const tunnelsSimulation: Runner = {
  name: 'tunnels-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('tunnels_simulation.ts'), tracesFolder, ...settingProgramSources('tunnel_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: tunnelArmSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const places = placesOf(options, await linksOf(options, context.directory));
    const parts = armsOf(setup, tunnelArmSchema).flatMap(({ arm, ...settings }) =>
      places.map((place) => ({
        name: [arm, place.bytes, place.loss, place.tunnelRttMs, place.link.name].join('/'),
        at: {
          kb: place.bytes / 1e3,
          loss_percent: place.loss * 100,
          ...(options.tunnel_rtts_ms.length > 1 && { tunnel_rtt_ms: place.tunnelRttMs }),
          ...axisOf(place.link),
        },
        arm,
        setting: settingAt(options, settings, place),
      })),
    );
    const program = await buildTunnels(context.progress);
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'tunnels.jsonl'), schema: tunnelRunSchema, ...context },
      async ({ setting }) => simulateTunnels(program, describeTunnel(setting), tunnelRunSchema, context),
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => cellsAt({ arm, at }, runs, tunnelQuantities)),
      versions: {},
      skipped: [],
    };
  },
};

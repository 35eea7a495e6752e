import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  buildTunnels,
  retransmissionShare,
  simulateTunnels,
  TUNNEL_CONTROLLERS,
  TUNNEL_MODES,
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
  server_rtt_ms: milliseconds,
  tunnel_rtt_ms: milliseconds,
  /** Shares of the packets towards the client that are lost */
  losses: z.array(z.number().min(0).max(1)).min(1),
  /** Mbit/s between client and tunnel: links of a constant rate */
  rates: z.array(z.number().positive()).default([]),
  /** Links whose rate towards the client changes as recorded */
  traces: z.array(z.enum(TRACES)).default([]),
  inner: z.enum(TUNNEL_CONTROLLERS),
  link_queue_bytes: count,
  warm_bytes: count,
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  mode: z.enum(TUNNEL_MODES),
  /** Streams of a group */
  streams: z.number().int().min(1),
  /** Congestion control of the tunnel */
  outer: z.enum(TUNNEL_CONTROLLERS),
  /** At the tunnel: `unbounded`, `codel`, or `bdp` for the bytes of one round trip through the tunnel */
  queue: z.enum(['unbounded', 'codel', 'bdp']),
  tecc: z.enum(['off', 'literal', 'mended']).default('off'),
  /** Weight of the latest report in the moving average of TECC */
  tecc_weight: z.number().min(0).max(1).default(0.5),
});
type ArmSettings = z.output<typeof settingsSchema>;

/** What the runs of a place are worth */
const quantities: Readonly<Record<string, (run: TunnelRun) => number>> = {
  completion_ms: ({ completion_ms }) => completion_ms,
  finished_share: ({ finished }) => Number(finished),
  delay_p50_ms: ({ delay_p50_ms }) => delay_p50_ms,
  delay_p95_ms: ({ delay_p95_ms }) => delay_p95_ms,
  retransmission_share: retransmissionShare,
  inner_lost_share: ({ inner_lost, inner_sent }) => inner_lost / Math.max(1, inner_sent),
  queue_p95_kb: ({ queue_p95 }) => queue_p95 / 1e3,
  inner_rtt_p95_ms: ({ inner_rtt_p95_ms }) => inner_rtt_p95_ms,
};

interface Place {
  bytes: number;
  loss: number;
  link: Link;
}

interface Link {
  name: string;
  /** The mean, if there is a trace */
  mbps: number;
  trace?: string;
}

const settingAt = (
  { server_rtt_ms, tunnel_rtt_ms, inner, link_queue_bytes, warm_bytes }: Options,
  { queue, ...arm }: ArmSettings,
  { bytes, loss, link: { mbps, trace } }: Place,
): TunnelSetting => ({
  ...arm,
  inner,
  server_rtt_ms,
  tunnel_rtt_ms,
  link_queue_bytes,
  warm_bytes,
  bytes,
  mbps,
  ...(trace !== undefined && { trace }),
  loss: { down: loss, up: 0 },
  queue: queue === 'bdp' ? String(Math.round((mbps * 1e6 * tunnel_rtt_ms) / 8e3)) : queue,
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

/** Simulates downloads through a tunnel with one lossy link, in virtual time. */
export const tunnelsSimulation: Runner = {
  name: 'tunnels-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('tunnels_simulation.ts'), tracesFolder, ...settingProgramSources('tunnel_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const links = await linksOf(options, context.directory);
    const places = options.sizes.flatMap((bytes) =>
      options.losses.flatMap((loss) => links.map((link) => ({ bytes, loss, link }))),
    );
    const parts = armsOf(setup, settingsSchema).flatMap(({ arm, ...settings }) =>
      places.map((place) => ({
        name: [arm, place.bytes, place.loss, place.link.name].join('/'),
        at: { kb: place.bytes / 1e3, loss_percent: place.loss * 100, ...axisOf(place.link) },
        arm,
        setting: settingAt(options, settings, place),
      })),
    );
    const program = await buildTunnels(context.progress);
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'tunnels.jsonl'), schema: tunnelRunSchema, ...context },
      async ({ setting }) => simulateTunnels(program, setting, context),
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => cellsAt({ arm, at }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

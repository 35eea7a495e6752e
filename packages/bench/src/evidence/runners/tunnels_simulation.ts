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
  /** Mbit/s between client and tunnel */
  rates: z.array(z.number().positive()).min(1),
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
  mbps: number;
}

const settingAt = (
  { server_rtt_ms, tunnel_rtt_ms, inner, link_queue_bytes, warm_bytes }: Options,
  { mode, streams, outer, queue }: ArmSettings,
  { bytes, loss, mbps }: Place,
): TunnelSetting => ({
  mode,
  streams,
  outer,
  inner,
  server_rtt_ms,
  tunnel_rtt_ms,
  link_queue_bytes,
  warm_bytes,
  bytes,
  mbps,
  loss: { down: loss, up: 0 },
  queue: queue === 'bdp' ? String(Math.round((mbps * 1e6 * tunnel_rtt_ms) / 8e3)) : queue,
});

/** Simulates downloads through a tunnel with one lossy link, in virtual time. */
export const tunnelsSimulation: Runner = {
  name: 'tunnels-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('tunnels_simulation.ts'), ...settingProgramSources('tunnel_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const places = options.sizes.flatMap((bytes) =>
      options.losses.flatMap((loss) => options.rates.map((mbps) => ({ bytes, loss, mbps }))),
    );
    const parts = armsOf(setup, settingsSchema).flatMap(({ arm, ...settings }) =>
      places.map((place) => ({
        name: [arm, place.bytes, place.loss, place.mbps].join('/'),
        at: { kb: place.bytes / 1e3, loss_percent: place.loss * 100, mbps: place.mbps },
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

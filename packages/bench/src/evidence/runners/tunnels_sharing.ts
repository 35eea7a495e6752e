import { join } from 'node:path';
import { z } from 'zod';
import { tunnelArmSchema } from '../../tunnels/arms.js';
import {
  buildTunnels,
  describeShared,
  sharedRunSchema,
  simulateTunnels,
  TUNNEL_CONTROLLERS,
  type SharedRun,
  type SharingFlow,
} from '../../tunnels/simulated_tunnels.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const seconds = z.number().min(0);

/** Flows that differ in one number from one to the next */
const flowsSchema = z.strictObject({
  count: z.number().int().min(1).max(50),
  /** Whether each has a tunnel of its own */
  own_tunnels: z.boolean(),
  /** Client to the tunnel's server, of the first flow, and what each further one has more */
  tunnel_rtt_ms: z.number().positive(),
  tunnel_rtt_step_ms: z.number().min(0).default(0),
  /** The tunnel's server to the server */
  beyond_tunnel_ms: z.number().positive(),
  beyond_tunnel_step_ms: z.number().min(0).default(0),
  /** Time between the starts of two flows; later flows end earlier, so that the first is the last */
  start_step_s: seconds.default(0),
});

const optionsSchema = z.strictObject({
  /** Sets of flows, by name */
  flows: z.record(z.string(), flowsSchema),
  length_s: z.number().positive(),
  loss: z.number().min(0).max(1),
  mbps: z.number().positive(),
  inner: z.enum(TUNNEL_CONTROLLERS),
  link_queue_bytes: z.number().int().min(0),
});

const flowsOf = (
  { count, own_tunnels, start_step_s, ...rtt }: z.output<typeof flowsSchema>,
  length: number,
): SharingFlow[] =>
  Array.from({ length: count }, (_, index) => {
    const tunnelRtt = rtt.tunnel_rtt_ms + index * rtt.tunnel_rtt_step_ms;
    return {
      tunnel: own_tunnels ? index : 0,
      tunnel_rtt_ms: tunnelRtt,
      server_rtt_ms: tunnelRtt + rtt.beyond_tunnel_ms + index * rtt.beyond_tunnel_step_ms,
      start_s: index * start_step_s,
      stop_s: length - index * start_step_s,
    };
  });

const quantities: Readonly<Record<string, (run: SharedRun) => number>> = {
  /** The lowest index of all stages */
  jain: ({ stages }) => Math.min(...stages.map(({ jain }) => jain)),
  mbps: ({ stages }) => stages.reduce((sum, { mbps }) => sum + mbps, 0) / Math.max(1, stages.length),
  rtt_p95_ms: ({ rtt_p95_ms }) => rtt_p95_ms,
};

/** Simulates endless downloads that share the link between clients and tunnel, in virtual time. */
export const tunnelsSharing: Runner = {
  name: 'tunnels-sharing',
  realTime: false,
  seeded: true,
  sources: [runnerModule('tunnels_sharing.ts'), ...settingProgramSources('tunnel_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: tunnelArmSchema }),
  async run(setup, context) {
    const { flows, length_s, loss, ...options } = optionsSchema.parse(setup.options);
    const parts = armsOf(setup, tunnelArmSchema).flatMap(({ arm, ...settings }) =>
      Object.entries(flows).map(([name, each]) => ({
        name: `${arm}/${name}`,
        at: { flows: name },
        arm,
        described: describeShared(
          { ...settings, ...options, loss: { down: loss, up: 0 }, limit_s: length_s },
          flowsOf(each, length_s),
        ),
      })),
    );
    const program = await buildTunnels(context.progress);
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'sharing.jsonl'), schema: sharedRunSchema, ...context },
      async ({ described }) => simulateTunnels(program, described, sharedRunSchema, context),
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => cellsAt({ arm, at }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

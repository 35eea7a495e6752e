import { join } from 'node:path';
import { z } from 'zod';
import { downloadRunSchema, type DownloadRun } from '../../direct_return/simulation/runs.js';
import { describeReturnSetting } from '../../direct_return/simulation/setting.js';
import { buildNativeBench } from '../../process/cmake.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { runProgram } from '../../process/run_program.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const milliseconds = z.number().min(0);

const optionsSchema = z.strictObject({
  /** Rate of the client's access link */
  mbps: z.number().positive(),
  queue_packets: z.number().int().positive(),
  jitter_ms: milliseconds,
  /** Bytes of the response, of which as many count as arrive in the time */
  bytes: z.number().int().positive(),
  seconds: z.number().positive(),
  /** One-way delays, by the name of the topology */
  topologies: z.record(
    z.string(),
    z.strictObject({
      client_gateway_ms: milliseconds,
      gateway_backend_ms: milliseconds,
      backend_client_ms: milliseconds,
    }),
  ),
  /** Shares of the packets that are lost, in both directions */
  losses: z.array(z.number().min(0).max(1)).min(1),
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  delivery: z.enum(['return', 'own-recovery', 'proxied']),
  /** Whether the gateway stands so far away that its round trip to the client is that of returned packets */
  as_far: z.boolean(),
});

/** More than any queue here has, which is limited in packets */
const QUEUE_BYTES = 4_194_304;

const quantities: Readonly<Record<string, (run: DownloadRun) => number>> = {
  first_ms: ({ first_ms }) => first_ms,
  first_body_ms: ({ first_body_ms }) => first_body_ms,
  done_ms: ({ ms }) => ms,
  goodput_mbps: ({ bytes, ms }) => (bytes * 8) / 1000 / ms,
  lost_share: ({ packets, lost }) => lost / packets,
};

/** Simulates one download from a backend, in virtual time. Times are in milliseconds since the request. */
export const directReturnSimulation: Runner = {
  name: 'direct-return-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('direct_return_simulation.ts'), ...settingProgramSources('direct_return_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('direct_return_bench', context.progress);
    const parts = armsOf(setup, settingsSchema).flatMap((settings) =>
      Object.keys(options.topologies).flatMap((topology) =>
        options.losses.map((loss) => ({
          name: [settings.arm, topology, loss].join('/'),
          at: { topology, loss },
          ...settings,
        })),
      ),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'downloads.jsonl'), schema: downloadRunSchema, ...context },
      async ({ at, delivery, as_far: asFar }) => {
        const words = ['download', delivery, String(context.seed), String(context.runs)];
        const input = describe(options, at, asFar);
        return parseJsonLines(await runProgram(program, words, { input }), downloadRunSchema);
      },
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => cellsAt({ arm, at }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

function describe(
  { topologies, mbps, queue_packets, jitter_ms, bytes, seconds }: Options,
  { topology, loss }: { topology: string; loss: number },
  asFar: boolean,
): string {
  const ways = topologies[topology] ?? { client_gateway_ms: 0, gateway_backend_ms: 0, backend_client_ms: 0 };
  const returned = ways.client_gateway_ms + ways.gateway_backend_ms + ways.backend_client_ms;
  return describeReturnSetting(
    {
      access: { mbps, delay_ms: 0, queue_bytes: QUEUE_BYTES, jitter_ms, loss, queue_packets },
      gateway_ms: asFar ? returned / 2 : ways.client_gateway_ms,
      backends: [{ order_ms: ways.gateway_backend_ms, way_ms: ways.backend_client_ms }],
    },
    [`download ${bytes}`, `seconds 0 ${seconds}`],
  );
}

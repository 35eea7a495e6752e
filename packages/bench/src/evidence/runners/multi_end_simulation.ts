import { join } from 'node:path';
import { z } from 'zod';
import { transferRunSchema, type TransferRun } from '../../multi_end/simulation/runs.js';
import type { Topology } from '../../multi_end/simulation/setting.js';
import { buildNativeBench } from '../../process/cmake.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';
import { simulateTransfers } from './simulated_transfers.js';

const milliseconds = z.number().min(0);

const optionsSchema = z.strictObject({
  /** Rate between all hosts */
  mbps: z.number().positive(),
  /** One-way delay, by the name of the topology */
  primary_delay_ms: z.record(z.string(), milliseconds),
  backend_delay_ms: milliseconds,
  /** Bytes of a response */
  sizes: z.array(z.number().int().positive()).min(1),
  /** `cold` includes hand-over and path validation; `warm` starts with validated paths. */
  starts: z.array(z.enum(['warm', 'cold'])).min(1),
});

const settingsSchema = z.strictObject({ delivery: z.enum(['direct', 'proxied']) });

interface Place {
  topology: string;
  size: number;
  start: 'warm' | 'cold';
}

const quantities: Readonly<Record<string, (run: TransferRun) => number>> = {
  done_ms: ({ done_ms }) => Math.max(...done_ms),
  first_byte_ms: ({ first_ms }) => first_ms[0] ?? 0,
};

/**
 * Simulates one download over a connection with a primary and a backend, in virtual time. Times are in milliseconds
 * since the request.
 */
export const multiEndSimulation: Runner = {
  name: 'multi-end-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('multi_end_simulation.ts'), ...settingProgramSources('multi_end_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('multi_end_bench', context.progress);
    const parts = armsOf(setup, settingsSchema).flatMap(({ arm, delivery }) =>
      placesOf(options).map((at) => ({
        name: [arm, at.topology, at.size, at.start].join('/'),
        arm,
        at,
        delivery,
      })),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'transfers.jsonl'), schema: transferRunSchema, ...context },
      ({ delivery, at }) => {
        const transfers = [{ answer_bytes: at.size, upload_bytes: 0, backend: 0 }];
        return simulateTransfers(
          program,
          { delivery, start: at.start, topology: topologyOf(options, at), transfers },
          context,
        );
      },
    );
    return {
      cells: finished.flatMap(({ part, runs }) => cellsAt({ arm: part.arm, at: { ...part.at } }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

const placesOf = ({ primary_delay_ms, sizes, starts }: z.output<typeof optionsSchema>): Place[] =>
  Object.keys(primary_delay_ms).flatMap((topology) =>
    sizes.flatMap((size) => starts.map((start) => ({ topology, size, start }))),
  );

function topologyOf(
  { mbps, primary_delay_ms, backend_delay_ms }: z.output<typeof optionsSchema>,
  { topology }: Place,
): Topology {
  const near = { mbps, delay_ms: backend_delay_ms };
  return {
    name: topology,
    primary: { mbps, delay_ms: primary_delay_ms[topology] ?? 0 },
    backends: [{ client: near, primary: near }],
  };
}

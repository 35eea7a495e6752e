import { join } from 'node:path';
import { z } from 'zod';
import { mean } from '../../measure/statistics.js';
import { transferExperiments } from '../../multi_end/simulation/experiments.js';
import { transferRunSchema, type TransferRun } from '../../multi_end/simulation/runs.js';
import { buildNativeBench } from '../../process/cmake.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';
import { simulateTransfers } from './simulated_transfers.js';

const optionsSchema = z.strictObject({
  /** Kinds of the experiments of `bench multi-end --sim` */
  kinds: z.array(z.enum(['backends', 'page'])).min(1),
  starts: z.array(z.enum(['warm', 'cold'])).min(1),
});
const settingsSchema = z.strictObject({ delivery: z.enum(['direct', 'proxied']) });

const quantities: Readonly<Record<string, (run: TransferRun) => number>> = {
  done_ms: ({ done_ms }) => Math.max(...done_ms),
  object_ms: ({ done_ms }) => mean(done_ms),
};

/** Simulates downloads from several backends at once, in virtual time. Times are in milliseconds since the requests. */
export const multiEndTransfers: Runner = {
  name: 'multi-end-transfers',
  realTime: false,
  seeded: true,
  sources: [runnerModule('multi_end_transfers.ts'), ...settingProgramSources('multi_end_bench'), 'fixtures/pages'],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { kinds, starts } = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('multi_end_bench', context.progress);
    const experiments = (await transferExperiments()).filter(({ kind }) => kinds.some((wanted) => wanted === kind));
    const parts = experiments.flatMap(({ name, topology, transfers }) =>
      starts.flatMap((start) =>
        armsOf(setup, settingsSchema).map(({ arm, delivery }) => ({
          name: [arm, name, start].join('/'),
          arm,
          at: { what: name, start },
          wanted: { delivery, start, topology, transfers },
        })),
      ),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'transfers.jsonl'), schema: transferRunSchema, ...context },
      ({ wanted }) => simulateTransfers(program, wanted, context),
    );
    return {
      cells: finished.flatMap(({ part: { arm, at }, runs }) => cellsAt({ arm, at }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

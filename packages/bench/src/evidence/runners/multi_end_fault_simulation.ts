import { join } from 'node:path';
import { z } from 'zod';
import { FAULTS, KEY_MODES } from '../../multi_end/simulation/experiments.js';
import { faultRunSchema, type FaultRun } from '../../multi_end/simulation/runs.js';
import { buildNativeBench } from '../../process/cmake.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { runProgram } from '../../process/run_program.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const optionsSchema = z.strictObject({ faults: z.array(z.enum(FAULTS)).min(1) });
const settingsSchema = z.strictObject({
  keys: z.enum(KEY_MODES),
  /** Whether keys are updated at about the time of the fault */
  key_update: z.boolean(),
});

const quantities: Readonly<Record<string, (run: FaultRun) => number>> = {
  stall_ms: ({ stall_ms }) => stall_ms,
  of_bound: ({ stall_ms, bound_ms }) => stall_ms / bound_ms,
  requests: ({ requests }) => requests,
  failed: ({ failed }) => failed,
  bytes_lost: ({ bytes_lost }) => bytes_lost,
  repeated: ({ repeated }) => repeated,
  resumed: ({ resumed }) => resumed,
  handshake_datagrams: ({ handshake_datagrams }) => handshake_datagrams,
};

/** Simulates a client, a primary and three backends of which something fails, in virtual time. */
export const multiEndFaultSimulation: Runner = {
  name: 'multi-end-fault-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('multi_end_fault_simulation.ts'), ...settingProgramSources('multi_end_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { faults } = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('multi_end_bench', context.progress);
    const parts = armsOf(setup, settingsSchema).flatMap((settings) =>
      faults.map((fault) => ({ name: `${settings.arm}/${fault}`, fault, ...settings })),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'faults.jsonl'), schema: faultRunSchema, ...context },
      async ({ fault, keys, key_update: keyUpdate }) => {
        const words = ['faults', fault, keys, keyUpdate ? '1' : '0', String(context.seed), String(context.runs)];
        return parseJsonLines(await runProgram(program, words), faultRunSchema);
      },
    );
    return {
      cells: finished.flatMap(({ part: { arm, fault }, runs }) => cellsAt({ arm, at: { fault } }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

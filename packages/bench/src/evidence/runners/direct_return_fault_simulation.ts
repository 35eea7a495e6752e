import { join } from 'node:path';
import { z } from 'zod';
import { returnFaultRunSchema, type ReturnFaultRun } from '../../direct_return/simulation/runs.js';
import { buildNativeBench } from '../../process/cmake.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { runProgram } from '../../process/run_program.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

/** As direct_return_bench names them */
const FAULTS = [
  'none',
  'backend-death',
  'backend-restart',
  'backend-failure',
  'backend-drain',
  'source-filtered',
  'backbone-cut',
  'backbone-outage',
  'lost-messages',
  'rebinding',
  'key-update',
  'key-limit',
  'slow-client',
  'request-given-up',
  'second-path',
  'gateway-death',
] as const;

const optionsSchema = z.strictObject({ faults: z.array(z.enum(FAULTS)).min(1) });
const settingsSchema = z.strictObject({
  /** Whether the client updates its keys at about the time of the fault */
  key_update: z.boolean(),
});

const quantities: Readonly<Record<string, (run: ReturnFaultRun) => number>> = {
  stall_ms: ({ stall_ms }) => stall_ms,
  of_bound: ({ stall_ms, bound_ms }) => stall_ms / bound_ms,
  requests: ({ requests }) => requests,
  failed: ({ failed }) => failed,
  bytes_wrong: ({ bytes_wrong }) => bytes_wrong,
  lost: ({ lost }) => lost,
  proxied: ({ proxied }) => proxied,
};

/** Simulates a client, a gateway and three backends that send for it, of which something fails, in virtual time. */
export const directReturnFaultSimulation: Runner = {
  name: 'direct-return-fault-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('direct_return_fault_simulation.ts'), ...settingProgramSources('direct_return_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { faults } = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('direct_return_bench', context.progress);
    const parts = armsOf(setup, settingsSchema).flatMap((settings) =>
      faults.map((fault) => ({ name: `${settings.arm}/${fault}`, fault, ...settings })),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'faults.jsonl'), schema: returnFaultRunSchema, ...context },
      async ({ fault, key_update: keyUpdate }) => {
        const words = ['faults', fault, keyUpdate ? '1' : '0', String(context.seed), String(context.runs)];
        return parseJsonLines(await runProgram(program, words), returnFaultRunSchema);
      },
    );
    return {
      cells: finished.flatMap(({ part: { arm, fault }, runs }) => cellsAt({ arm, at: { fault } }, runs, quantities)),
      versions: {},
      skipped: [],
    };
  },
};

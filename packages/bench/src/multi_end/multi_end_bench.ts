import { join } from 'node:path';
import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { numberList } from '../number_list.js';
import { untilInterrupted } from '../process/until_interrupted.js';
import { runHandOver } from './hand_over/hand_over_cost.js';
import { runRealBackends } from './real/real_outcome.js';
import { measureSimulatedBackends } from './simulation/simulated_backends.js';
import { simulatedTables } from './simulation/tables.js';

/** Directory of simulated runs, in the working directory */
const DIRECTORY = join('.sheaf', 'bench-multi-end');

const realSchema = z.strictObject({
  real: z.literal(true),
  sim: z.undefined({ error: 'not with --real' }).optional(),
  runs: z.coerce.number().int().min(1).default(3),
  clients: z.coerce.number().int().min(1).max(64).default(8),
  requests: z.coerce.number().int().min(1).default(100),
  bytes: z.coerce.number().int().min(1_000).max(3_000_000).default(500_000),
  backends: numberList('1,3', z.number().int().min(1).max(8)),
});

const handOverSchema = z.strictObject({
  'hand-over': z.literal(true),
  runs: z.coerce.number().int().min(1).default(5),
  connections: z.coerce.number().int().min(1).max(100_000).default(500),
});

const simulatedSchema = z.strictObject({
  sim: z.literal(true, {
    error:
      'give --sim (virtual time), --real (processes on loopback) or --hand-over (what a connection costs at a backend)',
  }),
  runs: z.coerce.number().int().min(1).default(20),
  'fault-runs': z.coerce.number().int().min(1).default(50),
  seed: z.coerce.number().int().min(0).default(1),
  resume: z.boolean().default(false),
});

/** Measures the benefit of one connection with several servers, and the effects when one of them fails. */
export const multiEndBench: Experiment = {
  name: 'multi-end',
  options: [...new Set([simulatedSchema, realSchema, handOverSchema].flatMap(({ shape }) => Object.keys(shape)))],
  async run(rawOptions, context) {
    if (rawOptions['hand-over'] === true) return runHandOver(handOverSchema.parse(rawOptions), context);
    if (rawOptions['real'] !== true) return runSimulated(simulatedSchema.parse(rawOptions), context);
    const { runs, clients, requests, bytes, backends } = realSchema.parse(rawOptions);
    return runRealBackends({ runs, clients, requests, bytes, backends }, context);
  },
};

async function runSimulated(
  { runs, 'fault-runs': faultRuns, seed, resume }: z.output<typeof simulatedSchema>,
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const machine = describeMachine();
  const measured = await untilInterrupted(
    () => progress('stopping; what is finished is kept, and --resume goes on with it'),
    (stop) => measureSimulatedBackends({ runs, faultRuns, seed, directory: DIRECTORY, resume, stop }, progress),
  );
  const { missed } = measured;
  const report = { experiment: 'multi-end', machine, parameters: { runs, fault_runs: faultRuns, seed }, ...measured };
  return {
    report,
    tables: simulatedTables(measured),
    ...(missed.length > 0 && { failure: `${missed.length} of the requirements are missed: ${missed.join('; ')}` }),
  };
}

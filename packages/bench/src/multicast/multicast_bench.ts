import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { numberList } from '../number_list.js';
import { measureCosts } from './cases.js';
import { casesFor, costTables, judgeCosts, summarizeCosts } from './costs.js';
import { ARM_NAMES } from './real/plans.js';
import { runRealMulticast } from './real/real_multicast.js';
import { judgeTrees, runTreeCases, TREE_CASES, treeTables } from './simulated_trees.js';

const seed = z.coerce.number().int().min(0).default(1);

const memorySchema = z.strictObject({
  sim: z.literal(false).optional(),
  real: z.literal(false).optional(),
  runs: z.coerce.number().int().min(1).default(30),
  bytes: z.coerce.number().int().min(100_000).max(100_000_000).default(2_000_000),
  clients: numberList('1,10,50,100,1000', z.number().int().min(1).max(1000)),
  seed,
  check: z.boolean().default(false),
});

const simulatedSchema = z.strictObject({
  sim: z.literal(true),
  real: z.undefined({ error: 'not with --sim' }).optional(),
  cases: z
    .string()
    .default(TREE_CASES.join())
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(TREE_CASES, { error: `none of ${TREE_CASES.join(', ')}` })).min(1)),
  runs: z.coerce.number().int().min(1).default(5),
  seed,
  check: z.boolean().default(false),
});

const realSchema = z.strictObject({
  real: z.literal(true),
  runs: z.coerce.number().int().min(1).default(5),
  bytes: z.coerce.number().int().min(100_000).max(200_000_000).default(20_000_000),
  // Each has a connection from one of three addresses, of which a gateway takes as many.
  clients: numberList('2,50', z.number().int().min(1).max(150)),
  loss: numberList('0,1', z.number().min(0).max(20)),
  rates: numberList('20,35,50,100,200,400,600,800', z.number().min(1).max(1000)),
  check: z.boolean().default(false),
});

/** Measures channels: what they cost in memory, what they do on a tree in virtual time, or between real hosts. */
export const multicastBench: Experiment = {
  name: 'multicast',
  options: [...new Set([memorySchema, simulatedSchema, realSchema].flatMap(({ shape }) => Object.keys(shape)))],
  async run(rawOptions, context) {
    if (rawOptions['real'] === true && rawOptions['sim'] !== true) {
      const { clients: receivers, loss: losses, real: _, ...rest } = realSchema.parse(rawOptions);
      return runRealMulticast({ ...rest, arms: ARM_NAMES, receivers, losses }, context);
    }
    return rawOptions['sim'] === true
      ? runSimulated(simulatedSchema.parse(rawOptions), context)
      : runInMemory(memorySchema.parse(rawOptions), context);
  },
};

async function runInMemory(
  { runs, bytes, clients, seed: first, check }: z.output<typeof memorySchema>,
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const machine = describeMachine();
  const cases = casesFor(clients);
  const costs = await measureCosts(cases, { rounds: runs, bytes, seed: first }, progress);
  const cells = summarizeCosts(cases, costs);
  const findings = judgeCosts(cells);
  const missed = findings.filter(({ holds }) => !holds).map(({ claim, measured }) => `${claim}: ${measured}`);
  const parameters = { runs, bytes, clients, seed: first };
  const report = { experiment: 'multicast', machine, parameters, cells, findings };
  return {
    report,
    tables: costTables(cells, findings),
    ...(check && missed.length > 0 && { failure: missed.join('; ') }),
  };
}

async function runSimulated(
  { cases, runs, seed: first, check }: z.output<typeof simulatedSchema>,
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const machine = describeMachine();
  const cells = await runTreeCases({ cases, runs, seed: first }, progress);
  const findings = judgeTrees(cells);
  const missed = findings.filter(({ holds }) => !holds).map((each) => `${each.case}: ${each.claim}: ${each.measured}`);
  const report = { experiment: 'multicast', machine, parameters: { cases, runs, seed: first }, cells, findings };
  return {
    report,
    tables: treeTables(cells, findings),
    ...(check && missed.length > 0 && { failure: missed.join('; ') }),
  };
}

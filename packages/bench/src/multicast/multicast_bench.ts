import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { measureCosts } from './cases.js';
import { casesFor, costTables, judgeCosts, summarizeCosts } from './costs.js';
import { judgeTrees, runTreeCases, TREE_CASES, treeTables } from './simulated_trees.js';

const seed = z.coerce.number().int().min(0).default(1);

const memorySchema = z.strictObject({
  sim: z.literal(false).optional(),
  runs: z.coerce.number().int().min(1).default(30),
  bytes: z.coerce.number().int().min(100_000).max(100_000_000).default(2_000_000),
  clients: z
    .string()
    .default('1,10,50,100,1000')
    .transform((text) => text.split(',').map(Number))
    .pipe(z.array(z.number().int().min(1).max(1000)).min(1)),
  seed,
  check: z.boolean().default(false),
});

const simulatedSchema = z.strictObject({
  sim: z.literal(true),
  cases: z
    .string()
    .default(TREE_CASES.join())
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(TREE_CASES, { error: `none of ${TREE_CASES.join(', ')}` })).min(1)),
  runs: z.coerce.number().int().min(1).default(5),
  seed,
  check: z.boolean().default(false),
});

/** Measures channels: what they cost in memory, or what they do on a tree in virtual time. */
export const multicastBench: Experiment = {
  name: 'multicast',
  options: [...new Set([memorySchema, simulatedSchema].flatMap(({ shape }) => Object.keys(shape)))],
  async run(rawOptions, context) {
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

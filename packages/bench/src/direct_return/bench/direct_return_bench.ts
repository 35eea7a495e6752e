import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { numberList } from '../../number_list.js';
import { untilInterrupted } from '../../process/until_interrupted.js';
import { measureBalancers } from '../balancer_outcome.js';
import { judgeBalancers } from '../findings.js';
import { runProfile } from '../profile_outcome.js';
import { SIMULATED_CASES, simulateReturn, simulatedReturnTables } from './simulated_return.js';
import { balancerTables } from '../tables.js';

const size = z.number().int().min(1_000).max(100_000_000);
const packets = z.number().int().min(2).max(257);
const load = {
  real: z.literal(true, { error: 'give --real (processes on loopback) or --sim (virtual time)' }),
  acks: numberList('2,10,32', packets),
  quota: numberList('0.15,1', z.number().min(0.01).max(1)),
  seconds: z.coerce.number().min(0.1).default(2),
  connections: z.coerce.number().int().min(1).max(250).default(32),
  requests: z.coerce.number().int().min(1).max(64).default(8),
  backends: z.coerce.number().int().min(1).max(8).default(3),
};

const balancersSchema = z.strictObject({
  ...load,
  profile: z.literal(false).optional(),
  bytes: numberList('1000,4000,16000,64000,100000,500000,1000000,10000000', size),
  runs: z.coerce.number().int().min(1).default(3),
  check: z.boolean().default(false),
});

const simulatedSchema = z.strictObject({
  sim: z.literal(true),
  real: z.undefined({ error: 'not with --sim' }).optional(),
  cases: z
    .string()
    .default(SIMULATED_CASES.join())
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(SIMULATED_CASES, { error: `none of ${SIMULATED_CASES.join(', ')}` })).min(1)),
  runs: z.coerce.number().int().min(1).default(5),
  seed: z.coerce.number().int().min(0).default(1),
  check: z.boolean().default(false),
});

const profileSchema = z.strictObject({
  ...load,
  profile: z.literal(true),
  bytes: numberList('1000,16000,100000,500000,1000000', size),
});

/** Measures what a gateway works when its backends answer the clients themselves, next to proxying. */
export const directReturnBench: Experiment = {
  name: 'direct-return',
  options: [...new Set([balancersSchema, profileSchema, simulatedSchema].flatMap(({ shape }) => Object.keys(shape)))],
  async run(rawOptions, context) {
    if (rawOptions['sim'] === true) return runSimulated(simulatedSchema.parse(rawOptions), context);
    if (rawOptions['profile'] === true) {
      const { bytes: sizes, requests: streams, quota: quotas, ...rest } = profileSchema.parse(rawOptions);
      return runProfile({ ...rest, sizes, streams, quotas }, context);
    }
    const {
      check,
      bytes: sizes,
      requests: streams,
      quota: quotas,
      real: _,
      ...rest
    } = balancersSchema.parse(rawOptions);
    const options = { ...rest, sizes, streams, quotas };
    const machine = describeMachine();
    const measured = await measureBalancers(options, context.progress);
    const findings = judgeBalancers(measured.balancer, measured.gateway);
    const missed = findings.filter(({ holds }) => !holds).map(({ claim, why }) => `${claim} (${why})`);
    return {
      report: { experiment: 'direct-return', machine, parameters: options, ...measured, findings },
      tables: balancerTables(measured, findings),
      ...(check && missed.length > 0 && { failure: missed.join('; ') }),
    };
  },
};

async function runSimulated(
  { cases, runs, seed, check }: z.output<typeof simulatedSchema>,
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const machine = describeMachine();
  const simulated = await untilInterrupted(
    () => progress('stopping'),
    (stop) => simulateReturn({ cases, runs, seed, stop }, progress),
  );
  const missed = simulated.findings
    .filter(({ truth }) => truth === 'fails')
    .map(({ claim, why }) => `${claim} (${why})`);
  const report = { experiment: 'direct-return', machine, parameters: { cases, runs, seed }, ...simulated };
  return {
    report,
    tables: simulatedReturnTables(simulated),
    ...(check && missed.length > 0 && { failure: missed.join('; ') }),
  };
}

import { UserError } from '@sheaf/gateway';
import type { Laboratory } from '../../measure/measured_rounds.js';
import { finishRounds, type RoundSample } from './rounds.js';
import type { Measured, RunContext } from './runner.js';

/** Measures the plans of a laboratory in rounds. What fails is left out, and named with its reason. @throws UserError */
export async function finishPlans<Plan, Sample extends object>(
  { plans, skipped, versions, measure }: Laboratory<Plan, Sample>,
  context: RunContext,
  { nameOf, toSample }: { nameOf: (plan: Plan) => string; toSample: (plan: Plan, sample: Sample) => RoundSample },
): Promise<Measured> {
  const failures = new Set<string>();
  const finished = await finishRounds(context, versions, async (inTurn) => {
    const samples: RoundSample[] = [];
    for (const plan of inTurn(plans)) {
      const sample = await measure(plan);
      if ('failed' in sample) {
        // A round that was stopped is not kept.
        if (context.stop.aborted) throw new UserError('BENCH_FAILED', sample.failed);
        failures.add(`${nameOf(plan)}: ${sample.failed}`);
        continue;
      }
      samples.push(toSample(plan, sample));
    }
    return samples;
  });
  return { ...finished, skipped: [...skipped.map(({ what, reason }) => `${what}: ${reason}`), ...failures] };
}

/** Returns the values of the figures of a run, by their names. */
export const valuesOf = <Sample, Rest extends unknown[]>(
  figures: Readonly<Record<string, (sample: Sample, ...rest: Rest) => number>>,
  sample: Sample,
  ...rest: Rest
): Record<string, number> =>
  Object.fromEntries(Object.entries(figures).map(([name, of]) => [name, of(sample, ...rest)]));

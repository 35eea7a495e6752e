import { progressBar } from './progress_bar.js';
import { shuffled } from './shuffled.js';

/** What was not measured, and why */
export interface Skipped {
  what: string;
  reason: string;
}

/** Programs, and plans that can be measured with them */
export interface Laboratory<Plan, Sample> {
  plans: readonly Plan[];
  skipped: readonly Skipped[];
  /** Foreign programs */
  versions: Record<string, string>;
  /** Measures a plan once. Returns the reason of a failure. */
  measure(plan: Plan): Promise<Sample | Failed>;
}

export interface Failed {
  failed: string;
}

/** A plan with its runs */
export interface MeasuredPlan<Plan, Sample> {
  plan: Plan;
  samples: Sample[];
  /** Reasons of the runs that failed */
  failures: string[];
}

export interface Watch {
  progress: (line: string) => void;
  stop: AbortSignal;
}

/** Opens a laboratory, and closes it behind the work. */
export type WithLaboratory<Plan, Sample> = <Result>(
  watch: Watch,
  work: (laboratory: Laboratory<Plan, Sample>) => Promise<Result>,
) => Promise<Result>;

export interface Rounds<Plan, Sample> {
  /** Number of rounds */
  runs: number;
  describe(plan: Plan): string;
  describeSample(sample: Sample | Failed): string;
}

export interface MeasuredRounds<Plan, Sample> extends Pick<Laboratory<Plan, Sample>, 'versions'> {
  measured: MeasuredPlan<Plan, Sample>[];
  skipped: Skipped[];
}

/** Measures all plans of a laboratory, each once in every round, in an order of its own. After `stop`, returns what was measured. */
export const measureLaboratory = <Plan, Sample extends object>(
  open: WithLaboratory<Plan, Sample>,
  rounds: Rounds<Plan, Sample>,
  watch: Watch,
): Promise<MeasuredRounds<Plan, Sample>> =>
  open(watch, async (laboratory) => {
    const measured = await measureRounds(laboratory, rounds, watch);
    const skipped = [...laboratory.skipped, ...failedPlans(measured, rounds.describe)];
    return { measured, skipped, versions: laboratory.versions };
  });

async function measureRounds<Plan, Sample extends object>(
  { plans, measure }: Laboratory<Plan, Sample>,
  { runs, describe, describeSample }: Rounds<Plan, Sample>,
  { progress, stop }: Watch,
): Promise<MeasuredPlan<Plan, Sample>[]> {
  const measured = plans.map((plan): MeasuredPlan<Plan, Sample> => ({ plan, samples: [], failures: [] }));
  const begun = performance.now();
  let done = 0;
  for (let run = 0; run < runs; run += 1) {
    for (const { plan, samples, failures } of shuffled(measured, run)) {
      const sample = await measure(plan);
      // What was stopped did not fail.
      if (stop.aborted) return measured;
      if ('failed' in sample) failures.push(sample.failed);
      else samples.push(sample);
      done += 1;
      progress(
        `${progressBar(done, plans.length * runs, (performance.now() - begun) / 1000)}: ${describe(plan)}: ${describeSample(sample)}`,
      );
    }
  }
  return measured;
}

/** Plans of which no run succeeded */
const failedPlans = <Plan, Sample>(
  measured: readonly MeasuredPlan<Plan, Sample>[],
  describe: (plan: Plan) => string,
): Skipped[] =>
  measured.flatMap(({ plan, samples, failures: [reason] }) =>
    samples.length > 0 || reason === undefined ? [] : [{ what: describe(plan), reason }],
  );

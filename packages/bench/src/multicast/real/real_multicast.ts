import type { ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { progressBar } from '../../measure/progress_bar.js';
import { shuffled } from '../../measure/shuffled.js';
import { untilInterrupted } from '../../process/until_interrupted.js';
import type { Skipped } from './arms.js';
import { judgeMulticast } from './findings.js';
import { describeSample, withLaboratory, type Laboratory, type LaboratoryOptions } from './laboratory.js';
import { describePlan } from './plans.js';
import { multicastRows, type MeasuredPlan } from './rows.js';
import { multicastTables } from './tables.js';

export interface RealMulticastOptions extends LaboratoryOptions {
  runs: number;
}

/** Runs `bench multicast --real`. After Ctrl-C, returns what was measured. @throws UserError */
export async function runRealMulticast(
  options: RealMulticastOptions & { check: boolean },
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const { check, ...parameters } = options;
  const machine = describeMachine();
  const { measured, skipped, versions } = await untilInterrupted(
    () => progress('stopping'),
    (stop) =>
      withLaboratory(parameters, { progress, stop }, async (laboratory) => {
        const plans = await measureRounds(laboratory, options, { progress, stop });
        const { skipped: unprepared, versions: foreign } = laboratory;
        return { measured: plans, skipped: [...unprepared, ...failedPlans(plans)], versions: foreign };
      }),
  );
  const rows = multicastRows(measured, options.bytes);
  const findings = judgeMulticast(rows);
  const missed = findings.filter(({ holds }) => !holds).map(({ claim, measured: ratio }) => `${claim}: ${ratio}`);
  const report = { experiment: 'multicast', machine, parameters, multicast: rows, findings, versions, skipped };
  return {
    report,
    tables: multicastTables(rows, findings, skipped),
    ...(check && missed.length > 0 && { failure: missed.join('; ') }),
  };
}

/** Measures all plans, each once in every round, in an order of its own. */
async function measureRounds(
  { plans, measure }: Laboratory,
  { runs, bytes }: RealMulticastOptions,
  { progress, stop }: ExperimentContext & { stop: AbortSignal },
): Promise<MeasuredPlan[]> {
  const measured = plans.map((plan): MeasuredPlan => ({ plan, samples: [], failures: [] }));
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
        `${progressBar(done, plans.length * runs, (performance.now() - begun) / 1000)}: ${describePlan(plan)}: ${describeSample(sample, bytes)}`,
      );
    }
  }
  return measured;
}

/** Plans without a row, since the file arrived in no run */
const failedPlans = (measured: readonly MeasuredPlan[]): Skipped[] =>
  measured.flatMap(({ plan, samples, failures: [reason] }) =>
    samples.length > 0 || reason === undefined ? [] : [{ what: describePlan(plan), reason }],
  );

import type { ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { missedMarks } from '../../measure/marks.js';
import { measureLaboratory } from '../../measure/measured_rounds.js';
import { untilInterrupted } from '../../process/until_interrupted.js';
import { judgeMulticast } from './findings.js';
import { describeSample, withLaboratory, type LaboratoryOptions } from './laboratory.js';
import { describePlan, type Plan, type Sample } from './plans.js';
import { multicastRows } from './rows.js';
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
      measureLaboratory<Plan, Sample>(
        (watch, work) => withLaboratory(parameters, watch, work),
        {
          runs: options.runs,
          describe: describePlan,
          describeSample: (sample) => describeSample(sample, options.bytes),
        },
        { progress, stop },
      ),
  );
  const rows = multicastRows(measured, options.bytes);
  const findings = judgeMulticast(rows);
  const report = { experiment: 'multicast', machine, parameters, multicast: rows, findings, versions, skipped };
  return {
    report,
    tables: multicastTables(rows, findings, skipped),
    ...(check && missedMarks(findings)),
  };
}

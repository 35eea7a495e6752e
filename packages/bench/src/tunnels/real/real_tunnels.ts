import type { ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { missedMarks } from '../../measure/marks.js';
import { measureLaboratory } from '../../measure/measured_rounds.js';
import { judgeTunnels } from './findings.js';
import { describeSample, withLaboratory, type LaboratoryOptions } from './laboratory.js';
import { describePlan, type Plan, type Sample } from './plans.js';
import { tunnelRows } from './rows.js';
import { tunnelTables } from './tables.js';

/** Runs `bench tunnels --real`. After Ctrl-C, returns what was measured. @throws UserError */
export async function runRealTunnels(
  { check, runs, ...options }: LaboratoryOptions & { check: boolean; runs: number },
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const machine = describeMachine();
  const { measured, skipped, versions } = await measureLaboratory<Plan, Sample>(
    (watch, work) => withLaboratory(options, watch, work),
    { runs, describe: describePlan, describeSample: (sample) => describeSample(sample, options.bytes) },
    progress,
  );
  const rows = tunnelRows(measured, options.bytes);
  const findings = judgeTunnels(rows);
  const parameters = { runs, ...options };
  const report = { experiment: 'tunnels', machine, parameters, tunnels: rows, findings, versions, skipped };
  return {
    report,
    tables: tunnelTables(rows, findings, skipped),
    ...(check && missedMarks(findings)),
  };
}

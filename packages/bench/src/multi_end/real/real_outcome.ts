import type { ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { judgeRealBackends } from './findings.js';
import { measureRealBackends, type RealBackendsOptions } from './real_backends.js';
import { realTables } from './tables.js';

/** Runs `bench multi-end --real`. @throws UserError */
export async function runRealBackends(options: RealBackendsOptions, { progress }: ExperimentContext): Promise<Outcome> {
  const machine = describeMachine();
  const measured = await measureRealBackends(options, progress);
  const findings = judgeRealBackends(measured);
  const missed = findings.filter(({ holds }) => !holds).map(({ claim, why }) => `${claim} (${why})`);
  const report = { experiment: 'multi-end', machine, parameters: options, ...measured, findings };
  return {
    report,
    tables: realTables(measured, findings),
    ...(missed.length > 0 && { failure: `${missed.length} of the requirements are missed: ${missed.join('; ')}` }),
  };
}

import type { ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { judgeRealEnds } from './findings.js';
import { measureRealEnds, type RealEndsOptions } from './real_ends.js';
import { realTables } from './tables.js';

/** `bench multi-end --real`. @throws UserError */
export async function runRealEnds(options: RealEndsOptions, { progress }: ExperimentContext): Promise<Outcome> {
  const machine = describeMachine();
  const measured = await measureRealEnds(options, progress);
  const findings = judgeRealEnds(measured);
  const missed = findings.filter(({ holds }) => !holds).map(({ claim, why }) => `${claim} (${why})`);
  const report = { experiment: 'multi-end', machine, parameters: options, ...measured, findings };
  return {
    report,
    tables: realTables(measured, findings),
    ...(missed.length > 0 && { failure: `${missed.length} of the requirements are missed: ${missed.join('; ')}` }),
  };
}

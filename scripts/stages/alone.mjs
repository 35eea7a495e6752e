// Runs once more, alone, what failed beside other tests. On a busy machine, a browser or a backend may not run for
// seconds, and the peer does then what it does with a dead one. Such a test passes alone; a defect does not.
import { progress } from '../setup/process.mjs';
import { sumOutcomes } from './outcome.mjs';

/** Where more programs or files failed, the machine is not the reason. */
const maximumAgain = 3;

/**
 * Sums up outcomes by the name of their test program or file: { passed, failures, skipped }. Programs and files with
 * failed tests run once more by `runAlone(name, outcome)` where it is given, one after another, and its outcome counts.
 * The first failures of what passes then are `unsteady`, which the summary prints. No second run mends what is `broken`.
 */
export async function sumWithSecondRuns(outcomes, broken, runAlone) {
  const failed = [...outcomes].filter(([, { failures }]) => failures.length > 0);
  const unsteady = [];
  const again = runAlone !== undefined && broken.length === 0 && failed.length <= maximumAgain;
  for (const [name, first] of again ? failed : []) {
    progress(`\n  ${name}: failed beside other tests; once more, alone`);
    const second = await runAlone(name, first);
    outcomes.set(name, second);
    if (second.failures.length === 0) unsteady.push(...first.failures);
  }
  const sum = sumOutcomes([...outcomes.values()]);
  return { ...sum, failures: [...sum.failures, ...broken], unsteady };
}

// `npm run setup`: installs and builds everything that a fresh clone needs, in plain Node. Options: --for
// build|demo|test (default: test, which is everything).
import { parseArgs } from 'node:util';
import { withLock } from './setup/lock.mjs';
import { StepError, progress } from './setup/process.mjs';
import { hashInputs, isFresh, writeStamp } from './setup/stamp.mjs';
import { checkNode, steps } from './setup/steps.mjs';

/**
 * Brings the checkout up to date for `purpose`, or only the steps in `wanted`. `begins`: called after the steps that it has
 * as keys. Throws {@link StepError}.
 */
export async function setup(purpose, wanted, begins = {}) {
  checkNode();
  const all = steps(purpose).filter((step) => wanted === undefined || wanted.has(step.name));
  await withLock(async () => {
    const numbered = all.map((step, index) => ({ step, position: `[${index + 1}/${all.length}]` }));
    const [system, npm] = ['system', 'npm'].map((part) => numbered.filter(({ step }) => step.first === part));
    // One chain waits for Debian's mirror while the other compiles.
    await besideEachOther([system, npm], begins);
    // Fetches foreign programs while ours compile.
    const rest = numbered.filter(({ step }) => step.first === undefined);
    await besideEachOther([rest.filter(({ step }) => step.foreign), rest.filter(({ step }) => !step.foreign)], begins);
  });
}

/** Performs the steps of each chain in turn. Reports a failure when nothing runs any more. */
async function besideEachOther(chains, begins) {
  const outcomes = await Promise.allSettled(
    chains.map(async (chain) => {
      for (const { step, position } of chain) {
        await perform(step, position);
        begins[step.name]?.();
      }
    }),
  );
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
}

/** Returns the titles of those steps whose outputs are not built from the present inputs. */
export const outdated = (wanted) =>
  steps('build')
    .filter(({ name }) => wanted.has(name))
    .filter(({ name, inputs, extra, outputs }) => !isFresh(name, hashInputs(inputs(), extra), outputs))
    .map(({ title }) => title);

async function perform(step, position) {
  const reason = step.skip?.();
  if (reason) return;
  const started = performance.now();
  if (step.inputs === undefined) {
    await step.run();
    progress(`${position} ${step.title}: ready (${seconds(started)})`);
    return;
  }
  const hash = hashInputs(step.inputs(), step.extra);
  if (isFresh(step.name, hash, step.outputs)) {
    progress(`${position} ${step.title}: up to date`);
    return;
  }
  progress(`${position} ${step.title} …`);
  await step.run();
  writeStamp(step.name, hash);
  progress(`${position} ${step.title}: done (${seconds(started)})`);
}

const seconds = (started) => `${((performance.now() - started) / 1000).toFixed(1)} s`;

export function report(error) {
  if (!(error instanceof StepError) && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
  progress(`\nerror: ${error.message}`);
  if (error.causeText) progress(`  cause: ${error.causeText}`);
  if (error.command) progress(`  run:   ${error.command}`);
  process.exitCode = 1;
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({ options: { for: { type: 'string', default: 'test' } } });
  await setup(values.for).then(() => progress('Ready. Try: npm run demo'), report);
}

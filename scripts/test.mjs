// `npm test`: runs the set-up, then every stage. `npm test -- --stage unit` runs one stage (repeatable),
// `--fuzz-seconds N` sets the length of each fuzz target's run, and `--fuzz-seed N` repeats a printed seed.
import { parseArgs } from 'node:util';
import { setup, report } from './setup.mjs';
import { buildSanitized } from './setup/native_build.mjs';
import { StepError, progress } from './setup/process.mjs';
import { browser } from './stages/browser.mjs';
import { fuzz } from './stages/fuzz.mjs';
import { lint } from './stages/lint.mjs';
import { typescript } from './stages/typescript.mjs';
import { unit } from './stages/unit.mjs';

/** Those that leave cores idle come before those whose programs compile meanwhile. */
const stages = [lint, typescript, browser, unit, fuzz];

function chosenStages(names) {
  for (const name of names) {
    if (stages.some((stage) => stage.name === name)) continue;
    throw new StepError(`There is no stage '${name}'.`, {
      command: `npm test -- --stage ${stages.map((stage) => stage.name).join('|')}`,
    });
  }
  return names.length === 0 ? stages : stages.filter((stage) => names.includes(stage.name));
}

/**
 * Builds what the stages need while the set-up and earlier stages run, until `stop` is aborted. Resolves with the build folder;
 * undefined without one, or when something did not build. Never rejects: a stage builds again, and reports what does not build.
 */
async function buildMeanwhile(chosen, stop) {
  const targets = chosen.flatMap(({ builds }) => builds ?? []);
  if (targets.length === 0) return undefined;
  return buildSanitized(targets, { patient: true, stop }).catch(() => undefined);
}

/** Begins what a stage can do before its turn. Never rejects: what has no result then is done in the stage. */
async function beginMeanwhile(stage, built) {
  const build = await built;
  if (build === undefined) return undefined;
  return stage.meanwhile?.(build).catch(() => undefined);
}

async function runStage(stage, options) {
  progress(`\n== ${stage.title}`);
  const started = performance.now();
  const outcome = await stage.run(options).catch((error) => {
    progress(error.stack);
    return { passed: 0, failures: [`the stage broke: ${error.message}`], skipped: [] };
  });
  return { stage, ...outcome, seconds: (performance.now() - started) / 1000 };
}

function summarize(results) {
  const print = (line) => process.stdout.write(`${line}\n`);
  print('');
  for (const { stage, passed, failures, skipped, unsteady = [], seconds } of results) {
    print(
      `${failures.length === 0 ? 'pass' : 'FAIL'}  ${stage.title.padEnd(28)} ${passed} passed, ${failures.length} failed  (${seconds.toFixed(0)} s)`,
    );
    for (const failure of failures) print(`      failed: ${failure}`);
    for (const failure of unsteady) print(`      unsteady, passed when run again: ${failure}`);
    for (const skip of skipped) print(`      skipped: ${skip}`);
  }
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const failed = results.reduce((sum, result) => sum + result.failures.length, 0);
  print('');
  print(`${passed} passed, ${failed} failed`);
  return failed;
}

const stop = new AbortController();
try {
  const { values } = parseArgs({
    options: {
      stage: { type: 'string', multiple: true, default: [] },
      'fuzz-seconds': { type: 'string', default: '6' },
      'fuzz-seed': { type: 'string' },
    },
  });
  const chosen = chosenStages(values.stage);
  let built;
  await setup('test', new Set(chosen.flatMap((stage) => stage.needs)), {
    packages: () => (built = buildMeanwhile(chosen, stop.signal)),
  });
  const results = [];
  const options = {
    fuzzSeconds: Number(values['fuzz-seconds']),
    ...(values['fuzz-seed'] !== undefined && { fuzzSeed: Number(values['fuzz-seed']) }),
  };
  const begun = chosen.map((stage) => beginMeanwhile(stage, built));
  for (const [index, stage] of chosen.entries()) {
    if (stage.builds !== undefined) await built;
    results.push(await runStage(stage, { ...options, begun: begun[index] }));
  }
  process.exitCode = summarize(results) === 0 ? 0 : 1;
} catch (error) {
  stop.abort();
  report(error);
}

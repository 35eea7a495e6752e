// Runs the TypeScript tests of all packages.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { failure } from './failure.mjs';
import { notRun, vitestFiles } from './listed.mjs';

/** Projects of vitest.config.ts. They run beside each other, which one process of Vitest does not do with them. */
const projects = ['waiting', 'working'];

export const typescript = {
  name: 'typescript',
  title: 'TypeScript tests',
  needs: [
    'packages',
    'dependencies',
    'addon',
    'typescript',
    'web-client',
    'interop',
    'interop-go',
    'interop-rust',
    'node-versions',
  ],
  run: async () => whole(await Promise.all(projects.map((project) => runVitest(project, ['--project', project])))),
};

/** Runs the tests with further arguments of Vitest. A file without a test that ran is a failure. */
export const runTypescriptTests = async (options) => whole([await runVitest('vitest', options)]);

async function runVitest(name, options) {
  const report = join(root, '.sheaf', 'test', `${name}.json`);
  mkdirSync(join(root, '.sheaf', 'test'), { recursive: true });
  rmSync(report, { force: true });
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const code = await run(
    process.execPath,
    [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...options],
    { cwd: root },
  );
  const outcome = existsSync(report) ? readReport(report) : { passed: 0, failures: [], skipped: [], files: [] };
  if (code !== 0 && outcome.failures.length === 0) outcome.failures.push(`vitest (${name}) ended with ${code}`);
  return outcome;
}

/** Returns what several runs of Vitest came to. A file that none of them ran is a failure. */
function whole(outcomes) {
  const files = outcomes.flatMap((outcome) => outcome.files);
  return {
    passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
    failures: [...outcomes.flatMap(({ failures }) => failures), ...notRun('test', vitestFiles(), files)],
    skipped: outcomes.flatMap(({ skipped }) => skipped),
  };
}

function readReport(path) {
  const outcome = { passed: 0, failures: [], skipped: [], files: [] };
  for (const file of JSON.parse(readFileSync(path, 'utf8')).testResults) {
    const name = file.name.replace(`${root}/`, '');
    if (file.assertionResults.length > 0) outcome.files.push(name);
    // A file that does not load has failed, though it reports no test.
    if (file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'))
      outcome.failures.push(failure(name, file.message));
    for (const test of file.assertionResults) {
      if (test.status === 'passed') outcome.passed += 1;
      else if (test.status === 'failed')
        outcome.failures.push(failure(`${name}: ${test.fullName}`, test.failureMessages[0]));
      else outcome.skipped.push(`${name}: ${test.fullName}`);
    }
  }
  return outcome;
}

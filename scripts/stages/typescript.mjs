// Runs the TypeScript tests of all packages.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { failure } from './failure.mjs';
import { notRun, vitestFiles } from './listed.mjs';

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
  run: () => runTypescriptTests([]),
};

/** Runs the tests with further arguments of Vitest. A file without a test that ran is a failure. */
export async function runTypescriptTests(options) {
  const report = join(root, '.sheaf', 'test', 'vitest.json');
  mkdirSync(join(root, '.sheaf', 'test'), { recursive: true });
  rmSync(report, { force: true });
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const code = await run(
    process.execPath,
    [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...options],
    { cwd: root },
  );
  const outcome = existsSync(report) ? readReport(report) : { passed: 0, failures: [], skipped: [], files: [] };
  outcome.failures.push(...notRun('test', vitestFiles(), outcome.files));
  if (code !== 0 && outcome.failures.length === 0) outcome.failures.push(`vitest ended with ${code}`);
  return outcome;
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

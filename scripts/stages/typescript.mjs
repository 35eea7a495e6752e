// Runs the TypeScript tests of all packages.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { sumWithSecondRuns } from './alone.mjs';
import { failure } from './failure.mjs';
import { notRun, vitestFiles } from './listed.mjs';

/** Projects of vitest.config.ts. The two runs go on beside each other, which one process of Vitest does not do with them. */
const runsOfProjects = { waiting: ['waiting', 'short'], working: ['working'] };

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
    'deploy-checks',
  ],
  run: async () => {
    const runs = await Promise.all(
      Object.entries(runsOfProjects).map(([name, projects]) =>
        runVitest(
          name,
          projects.flatMap((project) => ['--project', project]),
        ),
      ),
    );
    return whole(runs, async (file) => {
      const { outcomes, broken } = await runVitest('alone', ['--no-file-parallelism', file]);
      const second = outcomes.get(file) ?? { passed: 0, failures: [`${file}: did not run`], skipped: [] };
      return { ...second, failures: [...second.failures, ...broken] };
    });
  },
};

/** Runs the tests with further arguments of Vitest. A file without a test that ran is a failure. */
export const runTypescriptTests = async (options) => whole([await runVitest('vitest', options)]);

/** Returns outcomes by file, and what is `broken` beside the tests: errors that belong to none, and how Vitest ended. */
async function runVitest(name, options) {
  const report = join(root, '.sheaf', 'test', `${name}.json`);
  const unhandled = join(root, '.sheaf', 'test', `${name}_unhandled.json`);
  mkdirSync(join(root, '.sheaf', 'test'), { recursive: true });
  for (const file of [report, unhandled]) rmSync(file, { force: true });
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['default', 'json', join(root, 'scripts', 'stages', 'unhandled_reporter.mjs')];
  const code = await run(
    process.execPath,
    [vitest, 'run', ...reporters.map((each) => `--reporter=${each}`), `--outputFile.json=${report}`, ...options],
    { cwd: root, env: { SHEAF_UNHANDLED: unhandled } },
  );
  const outcomes = existsSync(report) ? readReport(report) : new Map();
  return { outcomes, broken: brokenBeside(`vitest (${name})`, code, outcomes, unhandled) };
}

function brokenBeside(name, code, outcomes, unhandled) {
  const isWhole = existsSync(unhandled);
  const errors = isWhole ? JSON.parse(readFileSync(unhandled, 'utf8')) : [];
  const failed = [...outcomes.values()].some(({ failures }) => failures.length > 0);
  if (!isWhole || (code !== 0 && !failed && errors.length === 0)) return [`${name} ended with ${code}`];
  return errors.map((error) => failure(`${name}: an error outside of the tests`, error));
}

/** Sums up several runs of Vitest. A file that none of them ran is a failure. */
function whole(runs, runAlone) {
  const outcomes = new Map(runs.flatMap((each) => [...each.outcomes]));
  const ran = [...outcomes].filter(([, outcome]) => outcome.ran).map(([file]) => file);
  const broken = [...runs.flatMap((each) => each.broken), ...notRun('test', vitestFiles(), ran)];
  return sumWithSecondRuns(outcomes, broken, runAlone);
}

function readReport(path) {
  const outcomes = new Map();
  for (const { name, status, message, assertionResults } of JSON.parse(readFileSync(path, 'utf8')).testResults) {
    const file = name.replace(`${root}/`, '');
    const of = (wanted) => assertionResults.filter((test) => test.status === wanted);
    const failures = of('failed').map((test) => failure(`${file}: ${test.fullName}`, test.failureMessages[0]));
    // A file that does not load has failed, though it reports no test.
    if (status === 'failed' && failures.length === 0) failures.push(failure(file, message));
    outcomes.set(file, {
      ran: assertionResults.length > 0,
      passed: of('passed').length,
      failures,
      skipped: assertionResults
        .filter((test) => !['passed', 'failed'].includes(test.status))
        .map((test) => `${file}: ${test.fullName}`),
    });
  }
  return outcomes;
}

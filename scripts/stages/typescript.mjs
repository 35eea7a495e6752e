// Runs the TypeScript tests of all packages.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { sumWithSecondRuns } from './alone.mjs';
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
  run: async () => {
    const runs = await Promise.all(projects.map((project) => runVitest(project, ['--project', project])));
    return whole(runs, async (file) => {
      const { outcomes, broken } = await runVitest('alone', ['--no-file-parallelism', file]);
      return outcomes.get(file) ?? { passed: 0, failures: [`${file}: did not run`, ...broken], skipped: [] };
    });
  },
};

/** Runs the tests with further arguments of Vitest. A file without a test that ran is a failure. */
export const runTypescriptTests = async (options) => whole([await runVitest('vitest', options)]);

/** Returns outcomes by file, and what is `broken` beside the tests. */
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
  const outcomes = existsSync(report) ? readReport(report) : new Map();
  const failed = [...outcomes.values()].some(({ failures }) => failures.length > 0);
  return { outcomes, broken: code !== 0 && !failed ? [`vitest (${name}) ended with ${code}`] : [] };
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

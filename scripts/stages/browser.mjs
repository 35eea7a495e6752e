// Runs Playwright with the distribution's Chromium. Tests that need Firefox start the distribution's.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { failure } from './failure.mjs';
import { notRun, playwrightFiles } from './listed.mjs';

export const browser = {
  name: 'browser',
  title: 'Browser tests (Chromium)',
  needs: ['packages', 'dependencies', 'addon', 'typescript', 'web-client'],
  run: async () => {
    const report = join(root, '.sheaf', 'test', 'playwright.json');
    mkdirSync(join(root, '.sheaf', 'test'), { recursive: true });
    rmSync(report, { force: true });
    const playwright = join(root, 'node_modules', '@playwright', 'test', 'cli.js');
    const code = await run(process.execPath, [playwright, 'test', '--reporter=list,json'], {
      cwd: root,
      env: { PLAYWRIGHT_JSON_OUTPUT_NAME: report },
    });
    const outcome = existsSync(report) ? readReport(report) : nothing();
    outcome.failures.push(...notRun('test', playwrightFiles(), outcome.files));
    if (code !== 0 && outcome.failures.length === 0) outcome.failures.push(`playwright ended with ${code}`);
    return outcome;
  },
};

const nothing = () => ({ passed: 0, failures: [], skipped: [], unsteady: [], files: [] });

function readReport(path) {
  const report = JSON.parse(readFileSync(path, 'utf8'));
  const outcome = nothing();
  outcome.failures.push(...report.errors.map((error) => error.message));
  const visit = (suite) => {
    for (const spec of suite.specs ?? []) {
      for (const test of spec.tests) {
        outcome.files.push(relative(root, join(report.config.rootDir, spec.file)));
        const name = `${spec.file}: ${spec.title}`;
        if (test.status === 'skipped')
          outcome.skipped.push(
            `${name}: ${test.annotations.map((note) => note.description).join('; ') || 'no reason given'}`,
          );
        else if (test.status === 'unexpected')
          outcome.failures.push(failure(name, test.results.at(-1)?.error?.message));
        else outcome.passed += 1;
        if (test.status === 'flaky')
          outcome.unsteady.push(failure(name, test.results.find(({ error }) => error)?.error.message));
      }
    }
    for (const child of suite.suites ?? []) visit(child);
  };
  for (const suite of report.suites) visit(suite);
  return outcome;
}

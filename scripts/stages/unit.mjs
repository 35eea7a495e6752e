// Runs the C++ tests with AddressSanitizer and UndefinedBehaviorSanitizer.
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { progress } from '../setup/process.mjs';
import { execute } from '../setup/execute.mjs';
import { sumWithSecondRuns } from './alone.mjs';
import { failure } from './failure.mjs';
import { notRun, unitPrograms } from './listed.mjs';
import { buildSanitized, inParallel, patiently } from '../setup/native_build.mjs';

/** How GoogleTest ends when tests failed. A sanitizer that finds something, leaks at the end included, ends otherwise. */
const testsFailed = 1;

const sanitizers = {
  ASAN_OPTIONS: 'detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:exitcode=99',
  UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
};

/** Programs with sockets, whose peers do not wait for one that gets no core. Time in the others is virtual. */
const withSockets = ['channel_node_test', 'workers_test', 'io_test', 'switchboard_test', 'tunnel_node_test'];

/** Programs that take the longest, and start first, so that no core waits for them at the end */
const first = [
  ...withSockets,
  'direct_return_test',
  'sim_test',
  'multipath_test',
  'channel_test',
  'endpoint_test',
  'multi_end_test',
  'scheduler_test',
  'stream_test',
  'recovery_test',
];

export const unit = {
  name: 'unit',
  title: 'C++ tests (ASAN, UBSAN)',
  needs: ['packages'],
  builds: 'unit_tests',
  /** Runs programs while no other one wants a core. Resolves with their results by name. */
  meanwhile: async (build) => {
    const programs = builtPrograms(build).filter((name) => !withSockets.includes(name));
    const run = (name) => runProgram(join(build, 'tests'), name, sanitizers, { patient: true });
    const results = await inParallel(programs, run);
    return new Map(programs.map((name, index) => [name, results[index]]));
  },
  /** `begun`: the promise of `meanwhile` */
  run: async ({ begun }) => {
    const build = await buildSanitized([unit.builds]);
    if (build === undefined) return { passed: 0, failures: ['the C++ does not build'], skipped: [] };
    return runUnitTests(build, () => sanitizers, begun);
  },
};

function builtPrograms(build) {
  const declared = unitPrograms();
  return [...new Set([...first, ...declared.keys()])].filter(
    (name) => declared.has(name) && existsSync(join(build, 'tests', name)),
  );
}

/**
 * Runs every test program of a build folder that has no result in `earlier`, which resolves with results by name.
 * `environmentOf` returns the environment variables of a program by its path. A program that ran fewer tests than its sources
 * declare is a failure.
 */
export async function runUnitTests(build, environmentOf, earlier) {
  const folder = join(build, 'tests');
  const declared = unitPrograms();
  const programs = builtPrograms(build);
  const run = (name) => runProgram(folder, name, environmentOf(join(folder, name)));
  const incomplete = (name, result) =>
    testsIn(result) >= declared.get(name) ? [] : [`${name}: ran ${testsIn(result)} of ${declared.get(name)} tests`];
  const result = async (name) => {
    const before = withSockets.includes(name) ? undefined : (await earlier)?.get(name);
    // What was built anew meanwhile is another program.
    return before?.builtAt === builtAt(folder, name) ? before : run(name);
  };
  const results = await inParallel(programs, result);
  const broken = [
    ...results.flatMap((result) => result.broken),
    ...notRun('test program', [...declared.keys()], programs),
    ...programs.flatMap((name, index) => incomplete(name, results[index])),
  ];
  const outcomes = new Map(programs.map((name, index) => [name, results[index]]));
  return sumWithSecondRuns(outcomes, broken, async (name) => {
    const second = await run(name);
    return { ...second, failures: [...second.failures, ...second.broken, ...incomplete(name, second)] };
  });
}

const builtAt = (folder, name) => statSync(join(folder, name)).mtimeMs;

const testsIn = ({ passed, failures, skipped }) => passed + failures.length + skipped.length;

/** Runs the tests of a program. What ends without a report, or with a finding, is broken. */
async function runProgram(folder, name, environment, { patient = false } = {}) {
  const report = join(folder, `${name}.json`);
  rmSync(report, { force: true });
  const started = performance.now();
  const program = builtAt(folder, name);
  const [command, ...args] = [...(patient ? patiently : []), join(folder, name), '--gtest_brief=1'];
  const { code, output } = await execute(command, [...args, `--gtest_output=json:${report}`], { environment });
  const outcome = existsSync(report) ? readReport(name, report) : { passed: 0, failures: [], skipped: [] };
  const expected = outcome.failures.length === 0 ? 0 : testsFailed;
  const broken = code === expected ? [] : [`${name} ended with ${code}`];
  if (code !== 0) progress(output);
  progress(
    `  ${name}: ${outcome.passed} passed, ${outcome.failures.length + broken.length} failed (${((performance.now() - started) / 1000).toFixed(1)} s)`,
  );
  return { ...outcome, broken, builtAt: program };
}

function readReport(program, path) {
  const suites = JSON.parse(readFileSync(path, 'utf8')).testsuites ?? [];
  const outcome = { passed: 0, failures: [], skipped: [] };
  for (const suite of suites) {
    for (const test of suite.testsuite) {
      const name = `${suite.name}.${test.name}`;
      if (test.failures?.length) outcome.failures.push(failure(`${program}: ${name}`, test.failures[0].failure));
      else if (test.result === 'SKIPPED')
        outcome.skipped.push(`${program}: ${name}: ${test.skipped?.[0]?.message ?? 'GTEST_SKIP'}`);
      else if (test.result === 'COMPLETED') outcome.passed += 1;
    }
  }
  return outcome;
}

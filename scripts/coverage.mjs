// `npm run coverage`: runs the C++ tests and the TypeScript tests with counters, and prints which part of each folder's
// lines they ran. `-- --language cpp|typescript` does one of both. Browsers, and processes that tests start, do not count.
// Ends with 1 when a test failed.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { report, setup } from './setup.mjs';
import { execute } from './setup/execute.mjs';
import { StepError } from './setup/process.mjs';
import { root } from './setup/stamp.mjs';
import { unitPrograms } from './stages/listed.mjs';
import { buildNative, clang } from './setup/native_build.mjs';
import { runTypescriptTests, typescript } from './stages/typescript.mjs';
import { runUnitTests } from './stages/unit.mjs';

/** Returns what the tests came to, and the lines of each source by its path in the repository: { total, covered }. */
async function nativeLines() {
  await setup('test', new Set(['packages']));
  const build = await buildNative('coverage', ['SHEAF_COVERAGE'], { compiler: clang });
  if (build === undefined) throw new StepError('The C++ does not build.');
  const programs = [...unitPrograms().keys()].map((name) => join(build, 'tests', name));
  const counters = (program) => `${program}.profraw`;
  for (const program of programs) rmSync(counters(program), { force: true });
  const outcome = await runUnitTests(build, (program) => ({ LLVM_PROFILE_FILE: counters(program) }));
  const merged = join(build, 'tests.profdata');
  const ran = programs.filter((program) => existsSync(counters(program)));
  await mustExecute('llvm-profdata', ['merge', '-sparse', '-o', merged, ...ran.map(counters)]);
  const objects = ran.flatMap((program) => ['-object', program]).slice(1);
  const exported = await mustExecute('llvm-cov', ['export', '-summary-only', `-instr-profile=${merged}`, ...objects]);
  // Its warnings are on lines before the JSON.
  const { files } = JSON.parse(exported.split('\n').find((line) => line.startsWith('{'))).data[0];
  const lines = files
    .map(({ filename, summary }) => [relative(root, filename), summary.lines])
    .filter(([file]) => file.startsWith('packages/native/src/'))
    .map(([file, { count, covered }]) => [file, { total: count, covered }]);
  return { ...outcome, lines };
}

async function typescriptLines() {
  await setup('test', new Set(typescript.needs));
  const folder = join(root, '.sheaf', 'coverage');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // Packages import each other's compiled files, whose lines are those of their sources.
  const include = ['*/src/**/*.ts', 'native/lib/**/*.ts', '*/dist/**/*.js'].map(
    (path) => `--coverage.include=packages/${path}`,
  );
  const outcome = await runTypescriptTests([
    '--coverage',
    '--coverage.reportOnFailure',
    '--coverage.provider=v8',
    '--coverage.reporter=json-summary',
    `--coverage.reportsDirectory=${folder}`,
    ...include,
  ]);
  const summary = JSON.parse(readFileSync(join(folder, 'coverage-summary.json'), 'utf8'));
  const lines = Object.entries(summary)
    .map(([file, { lines }]) => [relative(root, file), { total: lines.total, covered: lines.covered }])
    .filter(([file, { total }]) => file.endsWith('.ts') && total > 0);
  return { ...outcome, lines };
}

async function mustExecute(program, args) {
  const { code, output } = await execute(program, args);
  if (code !== 0) throw new StepError(`${program} ended with ${code}.`, { cause: output });
  return output;
}

/**
 * Prints a line for each package, one for each folder of the third level below packages/, one for all, and the tests
 * that failed.
 */
function print(title, { lines, passed, failures, seconds }) {
  const sums = new Map();
  for (const [file, { total, covered }] of lines) {
    const parts = file.split('/');
    const folder = parts.slice(0, Math.min(4, parts.length - 1)).join('/');
    for (const name of [parts.slice(0, 2).join('/'), folder, 'all']) {
      const sum = sums.get(name) ?? { total: 0, covered: 0 };
      sums.set(name, { total: sum.total + total, covered: sum.covered + covered });
    }
  }
  const row = (name, ran, total, part) => `${name.padEnd(46)}${ran.padStart(9)}${total.padStart(9)}${part.padStart(9)}`;
  console.log(`\n${row(title, 'ran', 'lines', 'part')}`);
  // The sum of all is last.
  const names = [...sums.keys()].sort((one, other) => (one === 'all') - (other === 'all') || (one < other ? -1 : 1));
  for (const [name, { total, covered }] of names.map((each) => [each, sums.get(each)]))
    console.log(row(name, String(covered), String(total), `${((100 * covered) / total).toFixed(1)} %`));
  console.log(`\n${title}: ${passed} tests passed, ${failures.length} failed (${seconds.toFixed(0)} s)`);
  for (const failure of failures) console.log(`  failed: ${failure}`);
}

const languages = { cpp: ['C++', nativeLines], typescript: ['TypeScript', typescriptLines] };

try {
  const { values } = parseArgs({ options: { language: { type: 'string' } } });
  const chosen = values.language === undefined ? Object.keys(languages) : [values.language];
  if (chosen.some((name) => !(name in languages)))
    throw new StepError(`There is no language '${values.language}'.`, {
      command: `npm run coverage -- --language ${Object.keys(languages).join('|')}`,
    });
  const results = [];
  for (const name of chosen) {
    const [title, measure] = languages[name];
    const started = performance.now();
    const result = await measure();
    results.push({ title, ...result, seconds: (performance.now() - started) / 1000 });
  }
  for (const { title, ...result } of results) print(title, result);
  process.exitCode = results.some(({ failures }) => failures.length > 0) ? 1 : 0;
} catch (error) {
  report(error);
}

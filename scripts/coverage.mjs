// `npm run coverage`: runs the C++ tests and the TypeScript tests with counters, and prints which part of each folder's
// lines they ran. `-- --language cpp|typescript` does one of both. Browsers, and processes that tests start, do not count.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { report, setup } from './setup.mjs';
import { execute } from './setup/execute.mjs';
import { StepError, progress, run } from './setup/process.mjs';
import { root } from './setup/stamp.mjs';
import { unitPrograms } from './stages/listed.mjs';
import { buildNative, inParallel } from './setup/native_build.mjs';
import { typescript } from './stages/typescript.mjs';

/** Lines of each source by its path in the repository: { total, covered }. */
async function nativeLines() {
  await setup('test', new Set(['packages']));
  const build = await buildNative('coverage', ['SHEAF_COVERAGE'], { compiler: { c: 'clang', cxx: 'clang++' } });
  if (build === undefined) throw new StepError('The C++ does not build.');
  const programs = [...unitPrograms().keys()].map((name) => join(build, 'tests', name));
  const counters = (program) => `${program}.profraw`;
  await inParallel(programs, async (program) => {
    const { code, output } = await execute(program, ['--gtest_brief=1'], {
      environment: { LLVM_PROFILE_FILE: counters(program) },
    });
    progress(`  ${relative(build, program)}: ${code === 0 ? 'passed' : `ended with ${code}\n${output}`}`);
  });
  const merged = join(build, 'tests.profdata');
  await mustExecute('llvm-profdata', ['merge', '-sparse', '-o', merged, ...programs.map(counters)]);
  const objects = programs.flatMap((program) => ['-object', program]).slice(1);
  const exported = await mustExecute('llvm-cov', ['export', '-summary-only', `-instr-profile=${merged}`, ...objects]);
  const { files } = JSON.parse(exported).data[0];
  return new Map(
    files
      .map(({ filename, summary }) => [relative(root, filename), summary.lines])
      .filter(([file]) => file.startsWith('packages/native/src/'))
      .map(([file, { count, covered }]) => [file, { total: count, covered }]),
  );
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
  const options = [
    '--coverage.provider=v8',
    '--coverage.reporter=json-summary',
    `--coverage.reportsDirectory=${folder}`,
  ];
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--coverage', '--coverage.reportOnFailure', ...options, ...include];
  const code = await run(process.execPath, args, { cwd: root });
  if (code !== 0) progress(`vitest ended with ${code}; the lines are those that ran`);
  const summary = JSON.parse(readFileSync(join(folder, 'coverage-summary.json'), 'utf8'));
  return new Map(
    Object.entries(summary)
      .map(([file, { lines }]) => [relative(root, file), { total: lines.total, covered: lines.covered }])
      .filter(([file, { total }]) => file.endsWith('.ts') && total > 0),
  );
}

async function mustExecute(program, args) {
  const { code, output } = await execute(program, args);
  if (code !== 0) throw new StepError(`${program} ended with ${code}.`, { cause: output });
  return output;
}

/** Prints a line for each folder of the third level below packages/, and one for all. */
function print(title, lines) {
  const folders = new Map();
  for (const [file, { total, covered }] of lines) {
    for (const folder of [
      file
        .split('/')
        .slice(0, 4)
        .join('/')
        .replace(/\/[^/]+\.\w+$/, ''),
      'all',
    ]) {
      const sum = folders.get(folder) ?? { total: 0, covered: 0 };
      folders.set(folder, { total: sum.total + total, covered: sum.covered + covered });
    }
  }
  const row = (name, ran, total, part) => `${name.padEnd(46)}${ran.padStart(9)}${total.padStart(9)}${part.padStart(9)}`;
  console.log(`\n${row(title, 'ran', 'lines', 'part')}`);
  for (const [folder, { total, covered }] of [...folders].sort())
    console.log(row(folder, String(covered), String(total), `${((100 * covered) / total).toFixed(1)} %`));
}

const languages = { cpp: ['C++', nativeLines], typescript: ['TypeScript', typescriptLines] };

try {
  const { values } = parseArgs({ options: { language: { type: 'string' } } });
  const chosen = values.language === undefined ? Object.keys(languages) : [values.language];
  if (chosen.some((name) => !(name in languages)))
    throw new StepError(`There is no language '${values.language}'.`, {
      command: `npm run coverage -- --language ${Object.keys(languages).join('|')}`,
    });
  const tables = [];
  for (const name of chosen) tables.push([languages[name][0], await languages[name][1]()]);
  for (const [title, lines] of tables) print(title, lines);
} catch (error) {
  report(error);
}

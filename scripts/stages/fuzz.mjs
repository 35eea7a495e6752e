// A short run of every fuzz target. What a target finds is kept in build/fuzz/artifacts; its corpus
// grows in build/fuzz/corpus, and fuzz/seeds/<target>.txt holds the inputs that it begins with.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { progress } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { execute } from '../setup/execute.mjs';
import { fuzzTargets, notRun } from './listed.mjs';
import { buildNative, inParallel } from './native_build.mjs';

export const fuzz = {
  name: 'fuzz',
  title: 'Fuzz targets',
  needs: ['packages'],
  run: async ({ fuzzSeconds }) => {
    const build = await buildNative('fuzz', ['SHEAF_FUZZ'], { compiler: { c: 'clang', cxx: 'clang++' } });
    if (build === undefined) return { passed: 0, failures: ['the fuzz targets do not build'], skipped: [] };
    const targets = fuzzTargets();
    const unbuilt = targets.filter((target) => !existsSync(join(build, 'fuzz', target)));
    const built = targets.filter((target) => !unbuilt.includes(target));
    const outcomes = await inParallel(built, (target) => runTarget(build, target, fuzzSeconds));
    const failures = [
      ...built.filter((_, index) => outcomes[index].code !== 0),
      ...notRun(
        'input',
        targets,
        built.filter((_, index) => outcomes[index].inputs > 0),
      ),
    ];
    return {
      passed: targets.length - new Set(failures.map((failure) => failure.split(':')[0])).size,
      failures,
      skipped: [],
    };
  },
};

async function runTarget(build, target, seconds) {
  const corpus = join(build, 'corpus', target);
  const artifacts = join(build, 'artifacts');
  mkdirSync(corpus, { recursive: true });
  mkdirSync(artifacts, { recursive: true });
  const args = [
    `-max_total_time=${seconds}`,
    '-timeout=5',
    '-rss_limit_mb=2048',
    `-artifact_prefix=${artifacts}/${target}-`,
    corpus,
    ...writeSeeds(build, target),
  ];
  const { code, output } = await execute(join(build, 'fuzz', target), args);
  if (code !== 0) progress(output);
  progress(
    `  ${target}: ${code === 0 ? `${executions(output)} inputs without a finding` : `ended with ${code}; input in ${artifacts}`}`,
  );
  return { code, inputs: executions(output) };
}

/** Writes a target's seeds as libFuzzer takes them; the folder, if there are any. */
function writeSeeds(build, target) {
  const text = join(root, 'packages', 'native', 'fuzz', 'seeds', `${target}.txt`);
  if (!existsSync(text)) return [];
  const folder = join(build, 'seeds', target);
  mkdirSync(folder, { recursive: true });
  for (const [index, bytes] of parseSeeds(readFileSync(text, 'utf8')).entries())
    writeFileSync(join(folder, String(index)), bytes);
  return [folder];
}

/** An input on each line, in hexadecimal, with a comment behind it. */
export function parseSeeds(text) {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
  return lines.map((line) => {
    const bytes = Buffer.from(line, 'hex');
    if (bytes.length * 2 !== line.length) throw new Error(`not hexadecimal: ${line}`);
    return bytes;
  });
}

/** How many inputs libFuzzer says that it ran. */
export function executions(output) {
  return Number(/^Done (\d+) runs? in /m.exec(output)?.[1] ?? 0);
}

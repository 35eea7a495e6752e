// Runs every fuzz target on the inputs of fuzz/seeds and fuzz/corpus, and then continues from them: half of the time
// with a fixed seed, half with a new one, which is printed. Failing inputs are kept in build/sanitized/artifacts; add them
// to fuzz/seeds, whose inputs run each time. The corpus in build/sanitized/corpus grows.
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { progress } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { execute } from '../setup/execute.mjs';
import { fuzzTargets, notRun } from './listed.mjs';
import { buildSanitized, inParallel } from '../setup/native_build.mjs';

const fixedSeed = 1;
const inputFolders = ['seeds', 'corpus'];

export const fuzz = {
  name: 'fuzz',
  title: 'Fuzz targets',
  needs: ['packages'],
  builds: 'fuzz_targets',
  run: async ({ fuzzSeconds, fuzzSeed = randomInt(1, 2 ** 31) }) => {
    const build = await buildSanitized([fuzz.builds]);
    if (build === undefined) return { passed: 0, failures: ['the fuzz targets do not build'], skipped: [] };
    const targets = fuzzTargets();
    const unbuilt = targets.filter((target) => !existsSync(join(build, 'fuzz', target)));
    const built = targets.filter((target) => !unbuilt.includes(target));
    progress(`  seeds ${fixedSeed} and ${fuzzSeed}; again: npm test -- --stage fuzz --fuzz-seed ${fuzzSeed}`);
    const outcomes = await inParallel(built, (target) => runTarget(build, target, fuzzSeconds, fuzzSeed));
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

async function runTarget(build, target, seconds, freshSeed) {
  const inputs = inputFolders.map((folder) => writeInputs(build, target, folder)).filter((path) => path !== undefined);
  let total = 0;
  for (const seed of [fixedSeed, freshSeed]) {
    const { code, count } = await runSeed({ build, target, seconds: Math.ceil(seconds / 2), seed, inputs });
    total += count;
    if (code !== 0) return { code, inputs: total };
  }
  progress(`  ${target}: ${total} inputs without a finding`);
  return { code: 0, inputs: total };
}

async function runSeed({ build, target, seconds, seed, inputs }) {
  const corpus = join(build, 'corpus', target);
  const artifacts = join(build, 'artifacts');
  mkdirSync(corpus, { recursive: true });
  mkdirSync(artifacts, { recursive: true });
  const args = [
    `-max_total_time=${seconds}`,
    `-seed=${seed}`,
    '-timeout=5',
    '-rss_limit_mb=2048',
    `-artifact_prefix=${artifacts}/${target}-`,
    corpus,
    ...inputs,
  ];
  const { code, output } = await execute(join(build, 'fuzz', target), args);
  if (code !== 0) progress(`${output}\n  ${target}: ended with ${code} under seed ${seed}; input in ${artifacts}`);
  return { code, count: executions(output) };
}

/** Writes a target's inputs in libFuzzer's form. Returns their folder, if there are any inputs. */
function writeInputs(build, target, kind) {
  const text = join(root, 'packages', 'native', 'fuzz', kind, `${target}.txt`);
  if (!existsSync(text)) return undefined;
  const folder = join(build, kind === 'corpus' ? 'committed' : kind, target);
  mkdirSync(folder, { recursive: true });
  for (const [index, bytes] of parseSeeds(readFileSync(text, 'utf8')).entries())
    writeFileSync(join(folder, String(index)), bytes);
  return folder;
}

/** Parses inputs: one on each line, in hexadecimal, with a comment behind it. */
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

/** Returns the number of inputs that libFuzzer reports to have run. */
export function executions(output) {
  return Number(/^Done (\d+) runs? in /m.exec(output)?.[1] ?? 0);
}

// A short run of every fuzz target. What a target finds is kept in build/fuzz/artifacts; its corpus
// grows in build/fuzz/corpus, and fuzz/corpus/<target> holds the committed seeds.
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { progress } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { execute } from './execute.mjs';
import { buildNative, inParallel } from './native_build.mjs';

export const fuzz = {
  name: 'fuzz',
  title: 'Fuzz targets',
  needs: ['packages'],
  run: async ({ fuzzSeconds }) => {
    const build = await buildNative('fuzz', ['SHEAF_FUZZ'], { compiler: { c: 'clang', cxx: 'clang++' } });
    if (build === undefined) return { passed: 0, failures: ['the fuzz targets do not build'], skipped: [] };
    const folder = join(build, 'fuzz');
    const targets = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('_fuzz')) : [];
    if (targets.length === 0) return { passed: 0, failures: ['there are no fuzz targets'], skipped: [] };
    const codes = await inParallel(targets, (target) => runTarget(build, target, fuzzSeconds));
    const failures = targets.filter((_, index) => codes[index] !== 0);
    return { passed: targets.length - failures.length, failures, skipped: [] };
  },
};

async function runTarget(build, target, seconds) {
  const corpus = join(build, 'corpus', target);
  const artifacts = join(build, 'artifacts');
  mkdirSync(corpus, { recursive: true });
  mkdirSync(artifacts, { recursive: true });
  const seeds = join(root, 'packages', 'native', 'fuzz', 'corpus', target);
  const args = [`-max_total_time=${seconds}`, '-timeout=5', '-rss_limit_mb=2048', `-artifact_prefix=${artifacts}/${target}-`, corpus];
  if (existsSync(seeds)) args.push(seeds);
  const { code, output } = await execute(join(build, 'fuzz', target), args);
  if (code !== 0) progress(output);
  progress(`  ${target}: ${code === 0 ? `${seconds} s without a finding` : `ended with ${code}; input in ${artifacts}`}`);
  return code;
}

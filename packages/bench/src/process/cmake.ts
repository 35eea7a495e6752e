import { cpus } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './run_program.js';
import { cmake, ninja, requireTools } from './toolchain.js';
import { nativeSources } from './workspace.js';

/** Builds a program of packages/native/bench. Returns its path. @throws UserError when tools are missing */
export async function buildNativeBench(target: string, progress: (line: string) => void): Promise<string> {
  const native = nativeSources();
  await requireTools('this experiment', [cmake, ninja]);
  progress(`building ${target}`);
  const build = join(native, 'build', 'bench');
  await buildWithCmake(native, build, ['-DSHEAF_BENCH=ON'], target);
  return join(build, target);
}

export async function buildWithCmake(
  source: string,
  build: string,
  options: readonly string[],
  target: string,
): Promise<void> {
  await runProgram('cmake', ['-G', 'Ninja', '-S', source, '-B', build, '-Wno-dev', ...options]);
  await runProgram('ninja', ['-C', build, '-j', String(cpus().length), target]);
}

import { mkdir } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from './run_program.js';
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

/**
 * Builds a target. Processes that build in one directory take turns, since neither CMake nor Ninja keeps two of them from writing
 * the same files: experiments, and tests that begin them, share one.
 */
export async function buildWithCmake(
  source: string,
  build: string,
  options: readonly string[],
  target: string,
): Promise<void> {
  await mkdir(build, { recursive: true });
  const inTurn = async (command: string, ...args: string[]): Promise<void> => {
    // The kernel ends the turn of a process that dies.
    const { output, failed } = await runToEnd('flock', ['--close', join(build, '.turn'), command, ...args]);
    if (!failed) return;
    // Both report on standard output why they fail.
    process.stderr.write(output);
    throw failed;
  };
  await inTurn('cmake', '-G', 'Ninja', '-S', source, '-B', build, '-Wno-dev', ...options);
  await inTurn('ninja', '-C', build, '-j', String(cpus().length), target);
}

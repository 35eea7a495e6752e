import { cpus } from 'node:os';
import { join } from 'node:path';
import { version } from '@sheaf/gateway';
import { isInstalled, runProgram } from '../process/run_program.js';
import { nativeSources, peersDirectory } from '../process/workspace.js';

/** One library in the comparison. */
export interface Subject {
  library: string;
  /** Undefined: the program says it. */
  version: string | undefined;
  /** Program and leading arguments; RUNS and BYTES follow. */
  command: [string, ...string[]];
}

export interface Skipped {
  library: string;
  reason: string;
}

type Progress = (line: string) => void;

/** Builds Sheaf's own program. */
export async function buildSheaf(progress: Progress): Promise<Subject> {
  progress('building engine_bench');
  const native = nativeSources();
  const build = join(native, 'build', 'bench');
  await buildWithCmake(native, build, ['-DSHEAF_BENCH=ON'], 'engine_bench');
  return { library: 'sheaf', version, command: [join(build, 'engine_bench')] };
}

/** Builds the peers that this machine has the tools for. */
export async function buildPeers(progress: Progress): Promise<{ subjects: Subject[]; skipped: Skipped[] }> {
  const subjects: Subject[] = [];
  const skipped: Skipped[] = [];
  progress('building the ngtcp2 peer');
  const ngtcp2 = join(peersDirectory, 'engine-ngtcp2');
  await buildWithCmake(ngtcp2, join(ngtcp2, 'target'), [], 'engine-ngtcp2');
  subjects.push({ library: 'ngtcp2', version: undefined, command: [join(ngtcp2, 'target', 'engine-ngtcp2')] });
  if (await isInstalled('cargo')) {
    progress('building the quiche and quinn-proto peers (minutes the first time)');
    const program = await buildWithCargo('engine-rust');
    for (const library of ['quiche', 'quinn-proto']) subjects.push({ library, version: undefined, command: [program, library] });
  } else {
    for (const library of ['quiche', 'quinn-proto']) skipped.push({ library, reason: 'cargo is not installed' });
  }
  return { subjects, skipped };
}

async function buildWithCmake(source: string, build: string, options: readonly string[], target: string): Promise<void> {
  await runProgram('cmake', ['-G', 'Ninja', '-S', source, '-B', build, '-Wno-dev', ...options]);
  await runProgram('ninja', ['-C', build, '-j', String(cpus().length), target]);
}

/** Builds one crate of peers/ and returns its program's path. */
export async function buildWithCargo(crate: string): Promise<string> {
  await runProgram('cargo', ['build', '--release', '--locked', '--quiet', '--package', crate], { cwd: peersDirectory });
  return join(peersDirectory, 'target', 'release', crate);
}

// Configures and builds packages/native with CMake for one purpose.
import { cpus } from 'node:os';
import { join } from 'node:path';
import { run } from './process.mjs';
import { root } from './stamp.mjs';

/** Before a command: it runs only while no other program wants a core. */
export const patiently = ['nice', '-n', '19'];

export const clang = { c: 'clang', cxx: 'clang++' };

/**
 * Builds targets, with `patient` only while no other program wants a core, until `stop` is aborted. Returns the build folder;
 * undefined when something did not build.
 */
export async function buildNative(name, options, { compiler, targets = ['all'], patient = false, stop } = {}) {
  const build = join(root, 'packages', 'native', 'build', name);
  const configure = [
    '-G',
    'Ninja',
    '-S',
    join(root, 'packages', 'native'),
    '-B',
    build,
    '-Wno-dev',
    '--log-level=WARNING',
  ];
  if (compiler !== undefined)
    configure.push(`-DCMAKE_C_COMPILER=${compiler.c}`, `-DCMAKE_CXX_COMPILER=${compiler.cxx}`);
  configure.push(...options.map((option) => `-D${option}=ON`));
  if ((await run('cmake', configure, { stop })) !== 0) return undefined;
  const [command, ...args] = [
    ...(patient ? patiently : []),
    'ninja',
    '-C',
    build,
    '-k',
    '0',
    '-j',
    String(cpus().length),
    '--quiet',
  ];
  if ((await run(command, [...args, ...targets], { stop })) !== 0) return undefined;
  return build;
}

/** Builds `unit_tests` and `fuzz_targets`, which share their libraries, or one of them. Returns as `buildNative`. */
export const buildSanitized = (targets, { patient, stop } = {}) =>
  buildNative('sanitized', ['SHEAF_SANITIZE'], { compiler: clang, targets, patient, stop });

/** Runs `work` over `items`, as many at once as there are cores. Results keep the order of items. */
export async function inParallel(items, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(cpus().length, items.length) }, worker));
  return results;
}

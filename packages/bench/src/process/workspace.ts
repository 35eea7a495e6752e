import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from '@sheaf/gateway';

const benchPackage = dirname(dirname(import.meta.dirname));

/** Directory of the peers' sources */
export const peersDirectory = join(benchPackage, 'peers');

/** Directory of foreign programs, and of programs made of foreign libraries */
export const interopDirectory = join(benchPackage, 'interop');

/** Returns the directory for programs that experiments build from other sources. */
export const repositoryCache = (): string => join(benchPackage, '..', '..', '.sheaf');

/**
 * Returns the directory of the native sources, from which C++ and Rust programs are built. @throws UserError outside of
 * the repository
 */
export function nativeSources(): string {
  const native = join(benchPackage, '..', 'native');
  if (existsSync(join(native, 'CMakeLists.txt')) && existsSync(peersDirectory)) return native;
  throw new UserError('BENCH_FAILED', 'this experiment builds programs from the repository, which is not here', {
    hint: 'clone the repository and run `npm run setup`',
  });
}

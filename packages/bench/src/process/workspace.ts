import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from '@sheaf/gateway';

const benchPackage = dirname(dirname(import.meta.dirname));

/** The peers' sources, below packages/bench. */
export const peersDirectory = join(benchPackage, 'peers');

/** Programs that Sheaf did not write, or that are made of libraries that it did not write. */
export const interopDirectory = join(benchPackage, 'interop');

/** Where programs are kept that experiments build from elsewhere. */
export const repositoryCache = (): string => join(benchPackage, '..', '..', '.sheaf');

/** C++ and Rust programs are built from the repository's sources. @throws UserError outside of it. */
export function nativeSources(): string {
  const native = join(benchPackage, '..', 'native');
  if (existsSync(join(native, 'CMakeLists.txt')) && existsSync(peersDirectory)) return native;
  throw new UserError('BENCH_FAILED', 'this experiment builds programs from the repository, which is not here', {
    hint: 'clone the repository and run `npm run setup`',
  });
}

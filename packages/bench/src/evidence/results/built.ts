import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UserError } from '@sheaf/gateway';

/** The part of the set-up that knows what is built from which sources */
interface SetUp {
  outdated(steps: ReadonlySet<string>): string[];
}

/**
 * Compares the sources with those that the set-up built from: digests are of sources, and what runs is built. Programs
 * of C++ and Rust are built by the experiments themselves. @throws UserError when something is not built from them
 */
export async function checkBuilt(root: string): Promise<void> {
  const { outdated } = (await import(pathToFileURL(join(root, 'scripts', 'setup.mjs')).href)) as SetUp;
  const names = outdated(new Set(['addon', 'typescript', 'web-client']));
  if (names.length === 0) return;
  throw new UserError('BENCH_FAILED', `what would run is not built from the sources: ${names.join(', ')}`, {
    hint: 'run `npm run setup`',
  });
}

import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorMessage, UserError } from '@sheaf/gateway';
import { printLine } from '../world.js';

/** The demo site is part of the repository, not of the package. */
const directory = new URL('../../../../fixtures/demo/', import.meta.url);

/** The directory of the demo site; made first when it is not there. @throws UserError */
export async function demoSite(progress: Writable): Promise<string> {
  const built = new URL('build/', directory);
  if (existsSync(new URL('index.html', built))) return fileURLToPath(built);
  const builder = new URL('build.mjs', directory);
  if (!existsSync(builder)) {
    throw new UserError('DEMO_UNAVAILABLE', 'the demo site is not part of this package', { hint: 'run `npm run demo` in a clone of the repository' });
  }
  await printLine(progress, 'making the demo site');
  try {
    const { buildDemoSite } = (await import(pathToFileURL(fileURLToPath(builder)).href)) as { buildDemoSite(): Promise<string> };
    return await buildDemoSite();
  } catch (error) {
    throw new UserError('DEMO_UNAVAILABLE', `the demo site cannot be made: ${errorMessage(error)}`, { hint: 'run `npm run setup`', cause: error });
  }
}

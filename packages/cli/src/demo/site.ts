import { existsSync } from 'node:fs';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { errorMessage, UserError } from '@sheaf/gateway';
import { printLine } from '../world.js';

/** Directory of the demo sites, which are part of the repository, but not of the package */
const fixtures = new URL('../../../../fixtures/', import.meta.url);

/**
 * Returns the directory of the demo site. Builds it first if it is missing, or older than its sources. @throws
 * UserError
 */
export async function demoSite(progress: Writable): Promise<string> {
  const { ensureDemoSite } = await load<{ ensureDemoSite: EnsureSite }>('demo/build.mjs');
  return ensureSite(ensureDemoSite, progress);
}

/**
 * Returns the directory with the page of several servers, `site`, and with the files of the backends, `pieces`. @throws
 * UserError
 */
export async function multiEndFiles(progress: Writable): Promise<string> {
  const { ensureMultiEndSite } = await load<{ ensureMultiEndSite: EnsureSite }>('multi-end/build.mjs');
  return ensureSite(ensureMultiEndSite, progress);
}

/** Returns the directory of the pages that publish and watch. @throws UserError */
export async function liveSite(progress: Writable): Promise<string> {
  const { ensureLiveSite } = await load<{ ensureLiveSite: EnsureSite }>('live/build.mjs');
  return ensureSite(ensureLiveSite, progress);
}

type EnsureSite = (options: { onBuild(): void }) => Promise<string>;

async function ensureSite(ensure: EnsureSite, progress: Writable): Promise<string> {
  try {
    return await ensure({ onBuild: () => void printLine(progress, 'making the demo site') });
  } catch (error) {
    throw new UserError('DEMO_UNAVAILABLE', `the demo site cannot be made: ${errorMessage(error)}`, {
      hint: 'run `npm run setup`',
      cause: error,
    });
  }
}

/** The HTTP server behind the demo's gateway that receives uploads */
export interface UploadServer {
  origin: string;
  close(): Promise<void>;
}

/** Starts the server. @throws UserError */
export async function startUploadServer(): Promise<UploadServer> {
  const { startUploadReceiver } = await load<{ startUploadReceiver(): Promise<Server> }>('demo/upload_receiver.mjs');
  const server = await startUploadReceiver();
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function load<Module>(name: string): Promise<Module> {
  const file = new URL(name, fixtures);
  if (!existsSync(file)) {
    throw new UserError('DEMO_UNAVAILABLE', 'the demo site is not part of this package', {
      hint: 'run `npm run demo` in a clone of the repository',
    });
  }
  try {
    return (await import(file.href)) as Module;
  } catch (error) {
    throw new UserError('DEMO_UNAVAILABLE', `the demo site cannot be made: ${errorMessage(error)}`, {
      hint: 'run `npm run setup`',
      cause: error,
    });
  }
}

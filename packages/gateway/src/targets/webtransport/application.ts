import { pathToFileURL } from 'node:url';
import type { Logger } from 'pino';
import { errorMessage, UserError } from '../../errors/user_error.js';
import { countStrayError, ownFile, runOwned, type ErrorOwner } from '../../errors/stray_errors.js';
import { builtInApplication } from './built_in.js';
import type { WebTransportApplication } from './session.js';

/** An application for sessions */
export interface LoadedApplication {
  run: WebTransportApplication;
  /** File of the application; built-in ones have none */
  module?: string;
}

/**
 * Loads the application that a configuration names: a built-in one, or the default export of a module.
 * @throws UserError when the module fails to load or exports no default function
 */
export async function loadApplication(application: string, log: Logger): Promise<LoadedApplication> {
  const builtIn = builtInApplication(application);
  if (builtIn) return { run: builtIn };
  const url = pathToFileURL(application).href;
  const owner: ErrorOwner = {
    onStrayError(error, kind) {
      countStrayError(kind);
      log.error({ err: error, kind, application }, 'WebTransport application failed outside of its sessions');
    },
  };
  ownFile(url, owner);
  const module = (await runOwned(owner, () => import(url)).catch((error: unknown) => {
    throw new UserError('APPLICATION_INVALID', `the module ${application} cannot be loaded: ${errorMessage(error)}`, {
      hint: 'run `node --check` on it; it must be an ES module',
      cause: error,
    });
  })) as { default?: unknown };
  if (typeof module.default !== 'function') {
    throw new UserError('APPLICATION_INVALID', `the module ${application} has no default function`, {
      hint: 'write `export default async (session) => { … }`',
    });
  }
  return { run: module.default as WebTransportApplication, module: application };
}

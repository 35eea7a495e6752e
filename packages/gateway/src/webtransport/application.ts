import { pathToFileURL } from 'node:url';
import { errorMessage, UserError } from '../errors/user_error.js';
import { builtInApplication } from './built_in.js';
import type { WebTransportApplication } from './session.js';

/**
 * The application that a configuration names: built in, or the default export of a module.
 * @throws UserError when the module fails to load or exports no default function.
 */
export async function loadApplication(application: string): Promise<WebTransportApplication> {
  const builtIn = builtInApplication(application);
  if (builtIn) return builtIn;
  const module = (await import(pathToFileURL(application).href).catch((error: unknown) => {
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
  return module.default as WebTransportApplication;
}

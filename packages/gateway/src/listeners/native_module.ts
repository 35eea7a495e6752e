import type { NativeModule } from '@sheaf/native';
import { errorMessage, UserError } from '../errors/user_error.js';

/**
 * Loads the native transport. It is loaded on demand, so that a missing build becomes an error with a hint.
 * @throws UserError
 */
export async function loadNativeModule(): Promise<NativeModule> {
  const refuse = (cause: unknown): never => {
    throw new UserError('TRANSPORT_UNAVAILABLE', `the native transport cannot be loaded: ${errorMessage(cause)}`, {
      hint: 'run `npm run setup`, which builds it',
      cause,
    });
  };
  const module = (await import('@sheaf/native').catch(refuse)) as Partial<NativeModule>;
  if (!module.createHttp3Server || !module.connectHttp3) return refuse(new Error('it exports no server and client'));
  return module as NativeModule;
}

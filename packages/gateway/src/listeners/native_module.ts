import type { NativeModule } from '@sheaf/native';
import { errorMessage, UserError } from '../errors/user_error.js';

/**
 * Loads the native transport. It is loaded on demand, so that a missing build becomes an error with a hint.
 * @throws UserError
 */
export async function loadNativeModule(): Promise<NativeModule> {
  try {
    const module: NativeModule = await import('@sheaf/native');
    module.loadAddon();
    return module;
  } catch (error) {
    const [reason, fix = 'run `npm run setup` in the repository'] = errorMessage(error).split('. Fix: ');
    throw new UserError('TRANSPORT_UNAVAILABLE', `the native transport cannot be loaded: ${reason}`, {
      hint: fix.replace(/\.$/, ''),
      cause: error,
    });
  }
}

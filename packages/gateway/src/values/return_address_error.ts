import { errorMessage, UserError } from '../errors/user_error.js';

/** Explains to the user why nothing can be sent from an address of a gateway. The native message ends with what to do. */
export function returnAddressError(cause: unknown, place?: string): UserError {
  const [message = '', hint] = errorMessage(cause).split('. Fix: ');
  return new UserError('RETURN_ADDRESS', message, {
    cause,
    ...(hint === undefined ? {} : { hint }),
    ...(place === undefined ? {} : { place }),
  });
}

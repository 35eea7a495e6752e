import { errorMessage, UserError } from '../errors/user_error.js';
import type { ErrorCode } from '../errors/error_codes.js';

/** An error on its way to another thread, which keeps no classes */
export interface SentError {
  message: string;
  stack?: string;
  /** Present for an error that the user can put right */
  user?: { code: ErrorCode; hint?: string; place?: string };
}

export function sendError(error: unknown): SentError {
  if (!(error instanceof UserError)) {
    const { stack } = error instanceof Error ? error : {};
    return { message: errorMessage(error), ...(stack !== undefined && { stack }) };
  }
  const { code, message, hint, place } = error;
  return { message, user: { code, ...(hint !== undefined && { hint }), ...(place !== undefined && { place }) } };
}

export function receiveError({ message, stack, user }: SentError): Error {
  if (user) return new UserError(user.code, message, user);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

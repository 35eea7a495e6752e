import { systemErrorCode, UserError } from '@sheaf/gateway/client';

/** Says that what a user named to send cannot be read. `shown` is it as the user wrote it. */
export const unreadableInput = (
  shown: string,
  cause: unknown,
  reason: string = systemErrorCode(cause) ?? 'unknown error',
): UserError =>
  new UserError('USAGE', `${shown} cannot be read (${reason})`, {
    hint: 'name a file, a directory, or - for standard input',
    cause,
  });

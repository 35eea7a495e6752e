import { pino, destination, type DestinationStream, type Logger } from 'pino';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import type { LogOptions } from './options.js';

/**
 * The log of events and requests as JSON lines; on standard error unless a file is named.
 * @throws UserError when the file cannot be written.
 */
export function createLog(options: LogOptions, stream?: DestinationStream): Logger {
  const settings = { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (options.file === undefined) return pino(settings, stream ?? destination({ fd: 2, sync: false }));
  try {
    return pino(settings, destination({ dest: options.file, append: true, mkdir: true, sync: false }));
  } catch (error) {
    throw new UserError('FILE_UNWRITABLE', `the log ${options.file} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`, {
      hint: 'check the permissions of its directory',
      cause: error,
    });
  }
}

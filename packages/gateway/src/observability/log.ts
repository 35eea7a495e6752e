import { mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino, type DestinationStream, type Logger } from 'pino';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import { LogStream } from './log_stream.js';
import type { LogOptions } from '../schema/log.js';

const standardError = 2;

/**
 * Creates the log of events and requests as JSON lines, on standard error unless a file is named. Each line names `worker`, the
 * number of a thread, if there is one.
 * @throws UserError when the file cannot be written
 */
export function createLog(options: LogOptions, stream?: DestinationStream, worker?: number): Logger {
  const { file } = options;
  const written =
    stream ??
    new LogStream(file === undefined ? standardError : openLog(file), (lines) =>
      log.error({ lines }, 'lines of this log could not be written and are missing'),
    );
  const base = worker === undefined ? null : { worker };
  const log = pino({ level: options.level, base, timestamp: pino.stdTimeFunctions.isoTime }, written);
  return log;
}

/** Returns where the lines of a log go, for lines that another thread has formatted. */
export function streamOf(log: Logger): DestinationStream {
  return (log as unknown as { [pino.symbols.streamSym]: DestinationStream })[pino.symbols.streamSym];
}

function openLog(file: string): number {
  try {
    mkdirSync(dirname(file), { recursive: true });
    return openSync(file, 'a');
  } catch (error) {
    throw new UserError(
      'FILE_UNWRITABLE',
      `the log ${file} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`,
      {
        hint: 'check the permissions of its directory',
        cause: error,
      },
    );
  }
}

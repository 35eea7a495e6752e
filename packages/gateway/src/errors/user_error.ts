import { errorCodes, type ErrorCode } from './error_codes.js';
import type { ExitCode } from './exit_codes.js';

export interface UserErrorDetails {
  /** What the user can do about it */
  hint?: string;
  /** Place in a file, already rendered with its caret */
  place?: string;
  cause?: unknown;
}

/** Reports a mistake that the user can put right. It is shown as cause, place and fix, never with a stack trace. */
export class UserError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly place: string | undefined;
  readonly exitCode: ExitCode;

  constructor(code: ErrorCode, message: string, details: UserErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'UserError';
    this.code = code;
    this.hint = details.hint;
    this.place = details.place;
    this.exitCode = errorCodes[code].exitCode;
  }

  /** Returns the text for a terminal: cause, place, fix. It ends without a line break. */
  render(): string {
    const lines = [`error[${this.code}]: ${this.message}`];
    if (this.place !== undefined) lines.push(this.place);
    if (this.hint !== undefined) lines.push(`  hint: ${this.hint}`);
    return lines.join('\n');
  }
}

/** Returns the system's error code (such as `EADDRINUSE`) if the value is an error that has one. */
export function systemErrorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Returns the HTTP/3 error code (RFC 9114 §8.1) of the peer's stream reset; undefined for any other error. */
export function resetCode(error: unknown): number | undefined {
  return systemErrorCode(error) === 'STREAM_RESET' ? (error as { errorCode?: number }).errorCode : undefined;
}

/** Returns the message of any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

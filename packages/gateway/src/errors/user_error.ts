import { errorCodes, type ErrorCode } from './error_codes.js';
import type { ExitCode } from './exit_codes.js';

export interface UserErrorDetails {
  /** What to do about it. */
  hint?: string;
  /** The place in a file, already rendered with its caret. */
  place?: string;
  cause?: unknown;
}

/** A mistake that the user can put right. Shown as place, cause and fix, never with a stack trace. */
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

  /** The text for a terminal: cause, place, fix. Ends without a line break. */
  render(): string {
    const lines = [`error[${this.code}]: ${this.message}`];
    if (this.place !== undefined) lines.push(this.place);
    if (this.hint !== undefined) lines.push(`  hint: ${this.hint}`);
    return lines.join('\n');
  }
}

/** The system's error code (`EADDRINUSE`), when the value is an error that has one. */
export function systemErrorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** The code of HTTP/3 (RFC 9114 §8.1) with which the peer reset a stream; undefined for any other error. */
export function resetCode(error: unknown): number | undefined {
  return systemErrorCode(error) === 'STREAM_RESET' ? (error as { errorCode?: number }).errorCode : undefined;
}

/** The message of whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

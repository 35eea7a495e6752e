/**
 * WebTransport application error codes of page streams and page sessions. They stay below 256, which every WebTransport
 * implementation carries unchanged. Registry: docs/reference/wire.md.
 */
export const ERROR_CODES = {
  /** There was no error: the session or the stream is no longer needed. */
  none: 0x00,
  /** The stream was not processed, so the same request may be sent again. */
  refused: 0x01,
  /** The peer sent bytes that are not a head. */
  malformed: 0x02,
  /** A head exceeds one of the limits. */
  too_large: 0x03,
  /** The version in front of the head is not supported. */
  unsupported_version: 0x04,
  /** The request could not be answered. It may have had effects. */
  internal: 0x05,
  /** The requester abandoned the request. */
  cancelled: 0x06,
  /** The head did not arrive in time. */
  timeout: 0x07,
  /** The request or its response needs the visitor's cookies or log-in, which only the browser itself can send and keep. */
  needs_credentials: 0x08,
} as const;

export type ErrorName = keyof typeof ERROR_CODES;

/** A violation of the page protocol by the peer */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';

  constructor(
    readonly error: ErrorName,
    reason: string,
  ) {
    super(reason);
  }

  get code(): number {
    return ERROR_CODES[this.error];
  }
}

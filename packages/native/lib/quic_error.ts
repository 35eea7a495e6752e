/** What went wrong in the transport: a stable `code`, and a sentence. */
export class QuicError extends Error {
  override readonly name = 'QuicError';

  /**
   * @param code stable name, e.g. `HANDSHAKE_FAILED`, `CONNECTION_CLOSED`, `STREAM_RESET`
   * @param errorCode number on the wire, if there is one
   */
  constructor(
    readonly code: string,
    message: string,
    readonly errorCode?: number,
  ) {
    super(message);
  }
}

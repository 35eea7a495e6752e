/** Error of the transport: a stable `code`, and a sentence. */
export class QuicError extends Error {
  /** Name of the class. */
  override readonly name = 'QuicError';

  /**
   * @param code stable name, such as `HANDSHAKE_FAILED`, `CONNECTION_CLOSED`, `STREAM_RESET`
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

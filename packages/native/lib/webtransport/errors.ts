/** Failure of a stream or its session, as the W3C interface reports it. */
export class WebTransportError extends Error {
  override readonly name = 'WebTransportError';

  constructor(
    message: string,
    readonly source: 'stream' | 'session',
    /** Code of the application that reset or stopped the stream. */
    readonly streamErrorCode: number | null = null,
  ) {
    super(message);
  }
}

/** Returns the code for the peer, of 32 bits, from the reason of an `abort()` or `cancel()`. */
export function streamErrorCode(reason: unknown): number {
  if (typeof reason !== 'object' || reason === null) return 0;
  const { streamErrorCode, code } = reason as { streamErrorCode?: unknown; code?: unknown };
  const wanted = streamErrorCode ?? code;
  return typeof wanted === 'number' && wanted >= 0 ? Math.min(Math.floor(wanted), 0xffff_ffff) : 0;
}

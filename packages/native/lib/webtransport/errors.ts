/** What went wrong with a stream or its session, as the W3C interface tells it. */
export class WebTransportError extends Error {
  override readonly name = 'WebTransportError';

  constructor(
    message: string,
    readonly source: 'stream' | 'session',
    /** Of the application that reset or stopped the stream. */
    readonly streamErrorCode: number | null = null,
  ) {
    super(message);
  }
}

/** The code for the peer out of the reason of an `abort()` or `cancel()`: 32 bits. */
export function streamErrorCode(reason: unknown): number {
  if (typeof reason !== 'object' || reason === null) return 0;
  const { streamErrorCode, code } = reason as { streamErrorCode?: unknown; code?: unknown };
  const wanted = streamErrorCode ?? code;
  return typeof wanted === 'number' && wanted >= 0 ? Math.min(Math.floor(wanted), 0xffff_ffff) : 0;
}

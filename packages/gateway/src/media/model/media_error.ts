/**
 * Why a track, a group or a request for one ended early. The numbers are application codes of resets; the draft of moq-lite leaves
 * them to applications.
 */
export const MEDIA_ERRORS = {
  /** The other side wants no more of it. */
  cancelled: 0,
  /** A newer group took its place before it was delivered. */
  expired: 2,
  unauthorized: 6,
  unexpected_stream: 10,
  too_large: 11,
  duplicate: 12,
  not_found: 13,
  protocol_violation: 15,
  unsupported: 17,
} as const;

export type MediaErrorName = keyof typeof MEDIA_ERRORS;

/** An end of a stream of media that its code explains. Streams of WebTransport take the code from an error by this name. */
export class MediaError extends Error {
  override readonly name = 'MediaError';
  readonly streamErrorCode: number;

  constructor(
    readonly kind: MediaErrorName,
    message: string,
  ) {
    super(message);
    this.streamErrorCode = MEDIA_ERRORS[kind];
  }
}

/** Returns the error, or one that says that the other side went away. */
export function asMediaError(error: unknown): MediaError {
  return error instanceof MediaError ? error : new MediaError('cancelled', 'the stream was ended');
}

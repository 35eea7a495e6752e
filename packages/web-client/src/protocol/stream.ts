import { concatenate } from './concatenate.js';
import { ERROR_CODES, ProtocolError, type ErrorName } from './errors.js';
import { findHead } from './head_codec.js';

/** The part of a W3C WebTransport stream that pages use */
export interface BidirectionalStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/** The part of a reader that is used here. A ReadableStreamDefaultReader has it. */
export interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/** A head, and the bytes that followed it in the same chunk */
export interface HeadAndRest<Head> {
  readonly head: Head;
  readonly rest: Uint8Array;
}

/**
 * Reads a stream up to the end of its head. Holds at most one head and one chunk.
 * @throws ProtocolError when the bytes are no head, or the stream ends inside it; the stream's own error when it was
 *   reset
 */
export async function readHead<Head>(
  reader: ByteReader,
  decode: (bytes: Uint8Array) => Head,
): Promise<HeadAndRest<Head>> {
  let bytes: Uint8Array = new Uint8Array(0);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) throw new ProtocolError('malformed', 'stream ended inside its head');
    bytes = bytes.length === 0 ? value : concatenate(bytes, value);
    const frame = findHead(bytes);
    if (frame !== undefined && frame.end <= bytes.length) {
      return { head: decode(bytes.subarray(frame.start, frame.end)), rest: bytes.subarray(frame.end) };
    }
  }
}

/**
 * Returns the rest of a stream behind its head. It reads the stream only when it is read itself, which preserves
 * back-pressure.
 */
export function bodyStream(rest: Uint8Array, reader: ByteReader): ReadableStream<Uint8Array> {
  let first: Uint8Array | undefined = rest.length > 0 ? rest : undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (first !== undefined) {
          controller.enqueue(first);
          first = undefined;
          return;
        }
        const { done, value } = await reader.read();
        if (done || value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => reader.cancel(streamError('cancelled')),
    },
    { highWaterMark: 0 },
  );
}

/**
 * Creates a reason for `abort()` and `cancel()` that carries an error code to the peer. Browsers expect a
 * WebTransportError, and @fails-components/webtransport expects `code`.
 */
export function streamError(name: ErrorName): Error {
  const code = ERROR_CODES[name];
  const error = webTransportError(name, code) ?? Object.assign(new Error(name), { streamErrorCode: code });
  // WebTransportError inherits a read-only `code` from DOMException, so define it on the object.
  return Object.defineProperty(error, 'code', { value: code });
}

function webTransportError(message: string, streamErrorCode: number): Error | undefined {
  type Constructor = new (first: unknown, second?: unknown) => Error;
  const scope = globalThis as unknown as { readonly WebTransportError?: Constructor };
  if (scope.WebTransportError === undefined) return undefined;
  try {
    return new scope.WebTransportError(message, { streamErrorCode });
  } catch {
    // Chromium 156 has the constructor of an earlier draft.
    return new scope.WebTransportError({ message, streamErrorCode });
  }
}

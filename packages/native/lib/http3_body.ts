import { Readable } from 'node:stream';
import type { FlatFields, NativeEndpoint } from './addon.js';
import { toHeaderMap } from './headers.js';
import { BACKEND_LOST } from './multi_end_types.js';
import { QuicError } from './quic_error.js';
import type { HeaderMap, ReceivedBody } from './types.js';

/** Error codes of RFC 9114 §8.1. */
export const H3_NO_ERROR = 0x100;
export const H3_REQUEST_CANCELLED = 0x10c;
export const H3_MESSAGE_ERROR = 0x10e;
export const H3_INTERNAL_ERROR = 0x102;

/** The largest piece that the addon gives at once. */
const readSize = 64 * 1024;

/** The stream of a message in the transport. */
export interface StreamLocation {
  endpoint: NativeEndpoint;
  connection: number;
  stream: number;
}

/** Makes the error for a stream that ended early with this code on the wire. */
export function streamError(code: number): QuicError {
  return code === BACKEND_LOST
    ? new QuicError('BACKEND_LOST', 'the server at the end of the path is gone', code)
    : new QuicError('STREAM_RESET', `the peer reset the stream (0x${code.toString(16)})`, code);
}

/** A caller that waits for bytes in memory of its own. */
interface Reader {
  buffer: Uint8Array;
  resolve: (bytes: number) => void;
  reject: (error: Error) => void;
}

/** The received half of a message. The peer's credit grows only as the body is read. */
export class IncomingBody extends Readable implements ReceivedBody {
  trailers: HeaderMap = {};
  private reader: Reader | undefined;
  private wanted = false;
  private finished = false;
  /** Whether the peer's message is complete */
  private complete = false;
  /** Whether somebody reads */
  private begun = false;
  private hasBytes = false;
  private lost: QuicError | undefined;

  constructor(readonly location: StreamLocation) {
    super({ highWaterMark: readSize });
  }

  /** Whether the peer's message is complete, or broke off */
  get ended(): boolean {
    return this.finished;
  }

  get bodyless(): boolean {
    return this.complete && !this.begun && !this.hasBytes;
  }

  override _read(): void {
    this.begin();
    this.wanted = true;
    this.pump();
  }

  readInto(buffer: Uint8Array): Promise<number> {
    if (this.reader) return Promise.reject(new TypeError('another call of readInto() waits for bytes: await it first'));
    this.begin();
    return new Promise((resolve, reject) => {
      this.reader = { buffer, resolve, reject };
      this.serveReader();
    });
  }

  /** Called when the addon has bytes. */
  onReadable(): void {
    this.hasBytes = true;
    this.serveReader();
    this.pump();
  }

  /** Called after the last byte and before the end. */
  onTrailers(fields: FlatFields): void {
    this.trailers = toHeaderMap(fields);
  }

  /** Called when the peer's message is complete. */
  onFinished(): void {
    if (this.finished) return;
    this.finished = this.complete = true;
    // Most requests have no body, and nobody reads them.
    if (this.begun) this.push(null);
    this.serveReader();
  }

  onReset(code: number): void {
    if (this.finished) return;
    this.finished = true;
    const error = streamError(code);
    // Bytes that had arrived from a lost backend are good: the caller asks another server for the rest.
    if (code === BACKEND_LOST && this.readableLength > 0) this.lost = error;
    else this.destroy(error);
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    if (this.lost && this.readableLength === 0) process.nextTick(() => this.destroy(this.lost));
    return chunk;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.finished) {
      this.finished = true;
      const { endpoint, connection, stream } = this.location;
      endpoint.stopReading(connection, stream, error ? H3_REQUEST_CANCELLED : H3_NO_ERROR);
    }
    this.serveReader();
    callback(error);
  }

  private begin(): void {
    if (this.begun) return;
    this.begun = true;
    if (this.complete) this.push(null);
  }

  /** Gives the waiting reader its bytes, if there are any, or the end. */
  private serveReader(): void {
    const { reader } = this;
    if (!reader) return;
    const outcome = this.fill(reader.buffer);
    if (outcome === undefined) return;
    this.reader = undefined;
    if (typeof outcome === 'number') reader.resolve(outcome);
    else reader.reject(outcome);
  }

  /**
   * Returns the number of bytes, 0 at the end, an error when no more will come, or nothing while bytes are yet to come.
   */
  private fill(buffer: Uint8Array): number | Error | undefined {
    // Callers without types may pass another view, which the addon cannot fill.
    if (!((buffer as unknown) instanceof Uint8Array) || buffer.byteLength === 0)
      return new TypeError('readInto() needs a Uint8Array with room for at least one byte');
    if (this.destroyed && !this.readableEnded)
      return this.errored ?? new QuicError('REQUEST_CANCELLED', 'the body was abandoned before its end');
    if (this.readableLength > 0) {
      // Bytes that another way of reading left behind.
      const chunk = this.read(Math.min(this.readableLength, buffer.byteLength)) as Buffer;
      buffer.set(chunk);
      return chunk.byteLength;
    }
    if (this.lost) return this.lost;
    if (this.finished) {
      this.read(0); // nobody else asks for 'end' and 'close'
      return 0;
    }
    const { endpoint, connection, stream } = this.location;
    return endpoint.readBodyInto(connection, stream, buffer) || undefined;
  }

  /** Pushes one chunk only: a Readable with several in its buffer joins them for a reader that awaits them. */
  private pump(): void {
    if (!this.wanted || this.finished) return;
    const { endpoint, connection, stream } = this.location;
    const chunk = endpoint.readBody(connection, stream);
    if (!chunk) return;
    this.wanted = false;
    this.push(chunk);
  }
}

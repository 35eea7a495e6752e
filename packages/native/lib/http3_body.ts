import { Readable } from 'node:stream';
import type { NativeEndpoint } from './addon.js';
import { QuicError } from './quic_error.js';

/** RFC 9114 §8.1. */
export const H3_NO_ERROR = 0x100;
export const H3_REQUEST_CANCELLED = 0x10c;
export const H3_INTERNAL_ERROR = 0x102;

/** Where a message's bytes come from. */
export interface StreamLocation {
  endpoint: NativeEndpoint;
  connection: number;
  stream: number;
}

/** The received half of a message. The peer's credit grows only as it is read. */
export class IncomingBody extends Readable {
  private wanted = false;
  private finished = false;

  constructor(protected readonly location: StreamLocation) {
    super({ highWaterMark: 256 * 1024 });
  }

  override _read(): void {
    this.wanted = true;
    this.pump();
  }

  /** The addon has bytes. */
  onReadable(): void {
    this.pump();
  }

  /** The peer's message is complete. */
  onFinished(): void {
    if (this.finished) return;
    this.pump();
    this.finished = true;
    this.push(null);
  }

  onReset(code: number): void {
    if (this.finished) return;
    this.finished = true;
    this.destroy(new QuicError('STREAM_RESET', `the peer reset the stream (0x${code.toString(16)})`, code));
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.finished) {
      this.finished = true;
      const { endpoint, connection, stream } = this.location;
      endpoint.stopReading(connection, stream, error ? H3_REQUEST_CANCELLED : H3_NO_ERROR);
    }
    callback(error);
  }

  private pump(): void {
    const { endpoint, connection, stream } = this.location;
    while (this.wanted && !this.finished) {
      const chunk = endpoint.readBody(connection, stream);
      if (!chunk) return;
      this.wanted = this.push(chunk);
    }
  }
}

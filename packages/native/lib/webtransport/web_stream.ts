import {
  ReadableStream,
  WritableStream,
  type ReadableByteStreamController,
  type UnderlyingByteSource,
  type WritableStreamDefaultController,
} from 'node:stream/web';
import type { StreamPriority, WebTransportBidirectionalStream, WebTransportSendStream } from '../types.js';
import { streamErrorCode, WebTransportError } from './errors.js';
import type { NativeStream, NetworkTask, ReadBuffer, StreamHandler } from './native_stream.js';

/**
 * A stream of a session in the form of the W3C interface. Nothing is read from the transport before somebody reads
 * here, so that the peer's credit grows with the reader. A write is done when the transport has taken it.
 */
export class WebStream implements StreamHandler {
  readonly readable: ReadableStream<Uint8Array> | undefined;
  readonly writable: WritableStream<Uint8Array> | undefined;
  private reading: ReadableByteStreamController | undefined;
  private writing: WritableStreamDefaultController | undefined;
  private blockedWrite: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(
    private readonly native: NativeStream,
    halves: { readable: boolean; writable: boolean },
    private readonly onDone: (stream: WebStream) => void,
  ) {
    if (halves.readable) this.readable = this.openReadable();
    if (halves.writable) this.writable = this.openWritable();
    native.jsobj = this;
  }

  /** Returns the stream in the form that an application receives. */
  bidirectional(): WebTransportBidirectionalStream {
    return {
      readable: this.readable!,
      writable: this.writable!,
      setPriority: (priority: StreamPriority) => this.native.setPriority(priority),
      setExpectedBytes: (bytes: number) => this.native.setExpectedBytes(bytes),
    };
  }

  /** Returns a stream without a readable half in the form that an application receives. */
  unidirectional(): WebTransportSendStream {
    return Object.assign(this.writable!, {
      setPriority: (priority: StreamPriority) => this.native.setPriority(priority),
    });
  }

  /** Called when the session is over. */
  fail(error: WebTransportError): void {
    this.reading?.error(error);
    this.failWriting(error);
    this.endReading();
  }

  // --- calls of the transport ---

  getReadBuffer({ byteSize }: { byteSize: number }): ReadBuffer {
    const request = this.reading?.byobRequest;
    if (request?.view) return { buffer: request.view as Uint8Array, byob: request, fin: false };
    // A buffer of its own, since the stream takes over the whole memory.
    return { buffer: Buffer.allocUnsafeSlow(byteSize), fin: false };
  }
  commitReadBuffer({ buffer, byob, readBytes = 0, fin }: ReadBuffer): { stopReading: boolean } {
    const { reading } = this;
    if (!reading) return { stopReading: true };
    if (fin) {
      reading.close();
      reading.byobRequest?.respond(0);
      this.endReading();
    } else if (byob) {
      (byob as { respond(bytes: number): void }).respond(readBytes);
    } else {
      reading.enqueue(buffer!.subarray(0, readBytes));
    }
    return { stopReading: true };
  }
  onStreamWrite({ success }: { success: boolean }): void {
    const blocked = this.blockedWrite;
    this.blockedWrite = undefined;
    if (success) blocked?.resolve();
    else blocked?.reject(new WebTransportError('the stream is closed', 'stream'));
  }
  onStreamNetworkFinish(): void {
    // Nothing to do: this reports what this side did itself.
  }
  onStreamRecvSignal({ code, nettask }: { code: number; nettask: NetworkTask }): void {
    if (nettask === 'resetStream') {
      this.reading?.error(new WebTransportError(`the peer reset the stream with code ${code}`, 'stream', code));
      this.endReading();
    } else {
      this.failWriting(new WebTransportError(`the peer stopped the stream with code ${code}`, 'stream', code));
    }
  }

  private openReadable(): ReadableStream<Uint8Array> {
    const source: UnderlyingByteSource = {
      type: 'bytes',
      start: (controller: ReadableByteStreamController) => {
        this.reading = controller;
      },
      pull: () => this.native.startReading(),
      cancel: (reason: unknown) => {
        this.native.stopSending(streamErrorCode(reason));
        this.endReading();
      },
    };
    return new ReadableStream(source);
  }

  private openWritable(): WritableStream<Uint8Array> {
    return new WritableStream<Uint8Array>({
      start: (controller) => {
        this.writing = controller;
        // Ends the write in flight, for which `abort` would wait otherwise.
        (controller as AbortableController).signal.addEventListener(
          'abort',
          () => this.onStreamWrite({ success: false }),
          { once: true },
        );
      },
      write: (chunk: unknown) => this.send(bytesOf(chunk)),
      close: () => {
        this.native.streamFinal();
        this.endWriting();
      },
      abort: (reason) => {
        this.native.resetStream(streamErrorCode(reason));
        this.endWriting();
      },
    });
  }

  private send(bytes: Uint8Array): Promise<void> | undefined {
    if (bytes.byteLength === 0) return undefined;
    // The W3C interface promises a copy: its caller may reuse the chunk at once.
    const outcome = this.native.lendChunk(Buffer.from(bytes));
    if (outcome < 0) throw new WebTransportError('the stream is closed', 'stream');
    if (outcome > 0) return undefined;
    return new Promise((resolve, reject) => (this.blockedWrite = { resolve, reject }));
  }

  private failWriting(error: WebTransportError): void {
    this.writing?.error(error);
    this.blockedWrite?.reject(error);
    this.blockedWrite = undefined;
    this.endWriting();
  }

  private endReading(): void {
    this.reading = undefined;
    if (!this.writing) this.onDone(this);
  }
  private endWriting(): void {
    this.writing = undefined;
    if (!this.reading) this.onDone(this);
  }
}

/** Adds the signal, which Node's types leave out. */
type AbortableController = WritableStreamDefaultController & { readonly signal: AbortSignal };

/** @throws TypeError */
function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new TypeError('a chunk of a WebTransport stream is an ArrayBuffer or a view of one');
}

import type { NativeEndpoint } from '../addon.js';
import { later, type OnFault } from '../contain.js';
import { lendable } from '../lent_bytes.js';
import { inConnection, sessionNodes } from '../priority_nodes.js';
import type { StreamPriority } from '../types.js';

/** Memory that a handler lends to be filled. */
export interface ReadBuffer {
  buffer?: Uint8Array;
  byob?: unknown;
  readBytes?: number;
  drained?: boolean;
  fin: boolean;
}

export type NetworkTask = 'stopSending' | 'resetStream' | 'streamFinal';

/** The user of a stream: `WebStream`, one end of a relay, or the `HttpWTStream` of @fails-components/webtransport. */
export interface StreamHandler {
  getReadBuffer(request: { byteSize: number }): ReadBuffer;
  commitReadBuffer(buffer: ReadBuffer): { stopReading?: boolean };
  onStreamWrite(event: { success: boolean }): void;
  onStreamNetworkFinish(event: { nettask: NetworkTask }): void;
  onStreamRecvSignal(event: { code: number; nettask: NetworkTask }): void;
}

/** Largest piece handed over at once. */
const readSize = 64 * 1024;

/**
 * One stream of a WebTransport session in the form that @fails-components/webtransport drives
 * (`NativeHttpWTStream` of its types). It never calls back from inside a call.
 */
export class NativeStream {
  private handler: StreamHandler | undefined;
  /** Signals of the peer that came before there was a handler. */
  private signals: { code: number; nettask: NetworkTask }[] = [];
  readbuffer: ArrayBuffer | undefined;
  private reading = false;
  private readFinished = false;
  private closed = false;
  private writeBlocked = false;

  constructor(
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    readonly id: number,
    private readonly session: number,
    private readonly onFault: OnFault,
  ) {}

  /** True when both halves are over. */
  get over(): boolean {
    return this.closed;
  }

  get jsobj(): StreamHandler | undefined {
    return this.handler;
  }
  set jsobj(handler: StreamHandler | undefined) {
    this.handler = handler;
    if (!handler || this.signals.length === 0) return;
    const signals = this.signals;
    this.signals = [];
    later(() => signals.forEach((signal) => handler.onStreamRecvSignal(signal)), this.onFault);
  }

  startReading(): void {
    this.reading = true;
    later(() => this.pump(), this.onFault);
  }
  stopReading(): void {
    this.reading = false;
  }
  /** Hands over everything that is left, even if it is not wanted. */
  drainReads(): void {
    this.reading = true;
    this.pump();
  }

  writeChunk(chunk: Uint8Array): void {
    // The W3C interface promises a copy: its caller may reuse the chunk at once.
    const outcome = this.lendChunk(Buffer.from(chunk));
    if (outcome !== 0) later(() => this.jsobj?.onStreamWrite({ success: outcome > 0 }), this.onFault);
  }
  /**
   * Like `writeChunk`, but for bytes that nobody changes: they are not copied. Returns 0 when they were taken and the
   * buffer is full: `onStreamWrite` then tells when there is room. A negative number means that they were refused.
   */
  lendChunk(chunk: Buffer): number {
    const outcome = this.endpoint.writeSessionStream(this.connection, this.id, lendable(chunk), false);
    if (outcome === 0) this.writeBlocked = true;
    return outcome;
  }
  streamFinal(): void {
    this.endpoint.writeSessionStream(this.connection, this.id, undefined, true);
    this.finish('streamFinal');
  }
  resetStream(code: number): void {
    this.endpoint.resetSessionStream(this.connection, this.id, code);
    this.finish('resetStream');
  }
  stopSending(code: number): void {
    this.readFinished = true;
    this.endpoint.stopSessionStream(this.connection, this.id, code);
    this.finish('stopSending');
  }
  /** Sets the priority of the bytes that this side sends. */
  setPriority(priority: StreamPriority): void {
    this.endpoint.setStreamPriority(this.connection, this.id, inConnection(priority, sessionNodes(this.session)));
  }
  /** Sets the number of bytes that the stream will have at its end. */
  setExpectedBytes(bytes: number): void {
    this.endpoint.setExpectedBytes(this.connection, this.id, bytes);
  }
  updateSendOrderAndGroup(): void {
    // Does nothing: Chromium sends neither the order nor the group, and the gateway schedules by its own stream header.
  }

  // --- events of the addon ---

  onReadable(): void {
    this.pump();
  }
  onWritable(): void {
    if (!this.writeBlocked) return;
    this.writeBlocked = false;
    this.jsobj?.onStreamWrite({ success: true });
  }
  onReset(code: number): void {
    if (this.readFinished) return;
    this.readFinished = true;
    this.signal({ code, nettask: 'resetStream' });
  }
  /** Called when both halves are over. A reset has been reported before; without one, everything was read. */
  onClosed(): void {
    this.closed = true;
    this.pump();
  }
  onStopped(code: number): void {
    this.signal({ code, nettask: 'stopSending' });
  }

  private signal(signal: { code: number; nettask: NetworkTask }): void {
    if (this.handler) this.handler.onStreamRecvSignal(signal);
    else this.signals.push(signal);
  }

  private finish(nettask: NetworkTask): void {
    later(() => this.jsobj?.onStreamNetworkFinish({ nettask }), this.onFault);
  }

  private pump(): void {
    while (this.reading && !this.readFinished && this.jsobj) {
      const available = this.endpoint.sessionStreamAvailable(this.connection, this.id);
      if (available === 0 && !this.closed) return;
      // A stream without a sending half closes with its last byte and is then unknown to the endpoint.
      if (available <= 0) {
        this.readFinished = true;
        this.jsobj.commitReadBuffer({ fin: true });
        return;
      }
      const target = this.jsobj.getReadBuffer({ byteSize: Math.min(available, readSize) });
      if (!target.buffer) return;
      target.readBytes = this.endpoint.readSessionStream(this.connection, this.id, target.buffer);
      target.drained = this.endpoint.sessionStreamAvailable(this.connection, this.id) <= 0;
      if (this.jsobj.commitReadBuffer(target).stopReading) this.reading = false;
    }
  }
}

import { WritableStream, type ReadableStream } from 'node:stream/web';
import type {
  WebTransportBidirectionalStream,
  WebTransportCloseInfo,
  WebTransportDatagramCounts,
  WebTransportDatagrams,
  WebTransportSendStream,
  WebTransportSession,
} from '../types.js';
import type { DatagramBatch } from './datagram_batch.js';
import { WebTransportError } from './errors.js';
import { IncomingDatagrams } from './incoming_datagrams.js';
import type { NativeSession, SessionHandler } from './native_session.js';
import type { NativeStream } from './native_stream.js';
import { WaitingItems } from './waiting_items.js';
import { WebStream } from './web_stream.js';

/**
 * Maximum number of streams that nobody has taken yet. The peer's credit bounds the open ones; beyond this number,
 * streams that are over are dropped.
 */
const maxWaitingStreams = 1_024;

/** A call that waits for a stream. */
interface Wanted {
  resolve: (stream: WebStream) => void;
  reject: (error: Error) => void;
}

interface StreamOptions {
  waitUntilAvailable?: boolean;
}

/** One session in the form of the W3C interface (https://www.w3.org/TR/webtransport/). */
export class WebSession implements SessionHandler, WebTransportSession {
  readonly ready: Promise<void> = Promise.resolve();
  readonly closed: Promise<WebTransportCloseInfo>;
  readonly draining: Promise<undefined>;
  readonly datagrams: WebTransportDatagrams;
  private readonly outgoing: Datagrams;
  private over = false;
  private resolveClosed!: (info: WebTransportCloseInfo) => void;
  private resolveDraining!: (nothing: undefined) => void;
  private readonly streams = new Set<WebStream>();
  private readonly wantedBidirectional: Wanted[] = [];
  private readonly wantedUnidirectional: Wanted[] = [];
  private readonly bidirectional = new WaitingItems<NativeStream, WebTransportBidirectionalStream>(
    (stream) => this.open(stream, { readable: true, writable: true }).bidirectional(),
    (stream) => refuse(stream, true),
  );
  private readonly unidirectional = new WaitingItems<NativeStream, ReadableStream<Uint8Array>>(
    (stream) => this.open(stream, { readable: true, writable: false }).readable!,
    (stream) => refuse(stream, false),
  );
  private readonly arrived = new IncomingDatagrams();

  constructor(private readonly native: NativeSession) {
    this.closed = new Promise((resolve) => (this.resolveClosed = resolve));
    this.draining = new Promise((resolve) => (this.resolveDraining = resolve));
    this.datagrams = this.outgoing = new Datagrams(native, this.arrived);
    native.jsobj = this;
  }

  get incomingBidirectionalStreams(): ReadableStream<WebTransportBidirectionalStream> {
    return this.bidirectional.readable;
  }
  get incomingUnidirectionalStreams(): ReadableStream<ReadableStream<Uint8Array>> {
    return this.unidirectional.readable;
  }

  async createBidirectionalStream(options: StreamOptions = {}): Promise<WebTransportBidirectionalStream> {
    const stream = await this.create(this.wantedBidirectional, () => this.native.orderBidiStream(options));
    return stream.bidirectional();
  }
  async createUnidirectionalStream(options: StreamOptions = {}): Promise<WebTransportSendStream> {
    const stream = await this.create(this.wantedUnidirectional, () => this.native.orderUnidiStream(options));
    return stream.unidirectional();
  }

  notifySessionDraining(): void {
    this.native.notifySessionDraining();
  }
  close({ closeCode = 0, reason = '' }: Partial<WebTransportCloseInfo> = {}): void {
    this.native.close({ code: closeCode, reason });
  }

  // --- calls of the transport ---

  onReady(): void {
    // Nothing to do: an application sees a session only once it is ready.
  }
  onStream({
    stream,
    bidirectional,
    incoming,
  }: {
    stream: NativeStream;
    bidirectional: boolean;
    incoming: boolean;
  }): void {
    if (incoming) return bidirectional ? takeIn(this.bidirectional, stream) : takeIn(this.unidirectional, stream);
    const wanted = (bidirectional ? this.wantedBidirectional : this.wantedUnidirectional).shift();
    wanted?.resolve(this.open(stream, { readable: bidirectional, writable: true }));
  }
  onDatagramsReceived(batch: DatagramBatch): void {
    for (const datagram of batch) this.arrived.add(datagram);
  }
  onDatagramsWritable(): void {
    this.outgoing.resume();
  }
  onGoAwayReceived(): void {
    this.resolveDraining(undefined);
  }
  onClose({ errorcode, error: reason }: { errorcode: number; error: string }): void {
    this.over = true;
    const error = new WebTransportError(
      `the session was closed with code ${errorcode}${reason === '' ? '' : `: ${reason}`}`,
      'session',
    );
    for (const wanted of [...this.wantedBidirectional.splice(0), ...this.wantedUnidirectional.splice(0)])
      wanted.reject(error);
    for (const stream of this.streams) stream.fail(error);
    this.streams.clear();
    this.bidirectional.end();
    this.unidirectional.end();
    this.arrived.end();
    this.outgoing.resume();
    this.resolveClosed({ closeCode: errorcode, reason });
  }
  onSessionStats(): void {
    // Nothing to do: nobody asks for statistics.
  }
  onDatagramStats(): void {
    // Nothing to do: nobody asks for statistics.
  }

  private create(wanted: Wanted[], order: () => boolean): Promise<WebStream> {
    return new Promise((resolve, reject) => {
      if (this.over) return reject(new WebTransportError('the session is closed', 'session'));
      const request = { resolve, reject };
      wanted.push(request);
      if (order()) return undefined;
      wanted.pop();
      return reject(new DOMException('the peer allows no more streams', 'QuotaExceededError'));
    });
  }

  private open(native: NativeStream, halves: { readable: boolean; writable: boolean }): WebStream {
    const stream = new WebStream(native, halves, (done) => this.streams.delete(done));
    this.streams.add(stream);
    return stream;
  }
}

function takeIn<Given>(items: WaitingItems<NativeStream, Given>, stream: NativeStream): void {
  items.add(stream);
  if (items.length > maxWaitingStreams) items.drop(({ over }) => over);
}

/** Refuses a stream that nobody will take: the peer is told, and gets its credit back. */
function refuse(stream: NativeStream, bidirectional: boolean): void {
  stream.stopSending(0);
  if (bidirectional) stream.resetStream(0);
}

class Datagrams implements WebTransportDatagrams {
  private shared: WritableStream<Uint8Array> | undefined;
  private waiting: (() => void)[] = [];

  constructor(
    private readonly session: NativeSession,
    private readonly arrived: IncomingDatagrams,
  ) {}

  get readable(): ReadableStream<Uint8Array> {
    return this.arrived.readable;
  }
  get writable(): WritableStream<Uint8Array> {
    return (this.shared ??= this.createWritable());
  }
  get maxDatagramSize(): number {
    return this.session.getMaxDatagramSize();
  }

  counts(): WebTransportDatagramCounts {
    return { ...this.session.datagramCounts(), dropped: this.arrived.dropped };
  }
  createWritable(): WritableStream<Uint8Array> {
    return new WritableStream<Uint8Array>({
      write: (chunk: unknown) => {
        if (!(chunk instanceof Uint8Array)) throw new TypeError('a datagram is a Uint8Array');
        return this.write(chunk);
      },
    });
  }
  /** Called when there is room again, or the session is over: writes that wait try again. */
  resume(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const tryAgain of waiting) tryAgain();
  }

  /** Sends a datagram, and waits for room. A datagram that is too large is lost, as datagrams may be. */
  private write(datagram: Uint8Array): Promise<void> | undefined {
    const outcome = this.session.offerDatagram(datagram);
    if (outcome === 'internalError') throw new WebTransportError('the session is closed', 'session');
    if (outcome !== 'blocked') return undefined;
    return new Promise<void>((resolve) => this.waiting.push(resolve)).then(() => this.write(datagram));
  }
}

import type { DatagramCounts, NativeEndpoint } from '../addon.js';
import { later, type OnFault } from '../contain.js';
import type { HeaderMap } from '../types.js';
import type { DatagramBatch } from './datagram_batch.js';
import { NativeStream } from './native_stream.js';

/**
 * The user of a session: `WebSession`, one side of a relay, or the `HttpWTSession` of @fails-components/webtransport.
 */
export interface SessionHandler {
  onReady(event: { object: NativeSession; protocol?: string }): void;
  onClose(event: { errorcode: number; error: string }): void;
  onStream(event: { stream: NativeStream; bidirectional: boolean; incoming: boolean; sendOrder: number }): void;
  /** The callback of @fails-components/webtransport in place of `onDatagramsReceived`. */
  onDatagramReceived?(event: { datagram: Uint8Array }): void;
  onDatagramsReceived?(batch: DatagramBatch): void;
  /** Called when there is room again after `offerDatagram` returned `blocked`. */
  onDatagramsWritable?(): void;
  onGoAwayReceived(event: object): void;
  onSessionStats(event: Record<string, number>): void;
  onDatagramStats(event: Record<string, number>): void;
}

type DatagramOutcome = 'success' | 'blocked' | 'internalError' | 'tooBig';

interface StreamOptions {
  waitUntilAvailable?: boolean;
}

interface PathTimes {
  paths?: { smoothedRttMs: number; minRttMs: number; congestionWindow: number; packetsLost: number }[];
}

/** Keeps the streams of all sessions of a connection. */
export interface StreamRegistry {
  add(stream: NativeStream): void;
}

/**
 * One WebTransport session in the form that @fails-components/webtransport drives (`NativeHttpWTSession` of its types).
 * Events that come before it has a handler wait.
 */
export class NativeSession {
  private handler: SessionHandler | undefined;
  private waiting: ((handler: SessionHandler) => void)[] = [];
  private readonly wanted: { unidirectional: boolean }[] = [];
  private closed = false;
  private lostConnection = false;
  /** True while a datagram that found no room waits. */
  private offered = false;
  private lastCounts: DatagramCounts = { sent: 0, acknowledged: 0, lost: 0, expired: 0 };

  /** Client: fields of the response. */
  headers: HeaderMap = {};

  constructor(
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    readonly id: number,
    private readonly streams: StreamRegistry,
    private readonly onFault: OnFault,
  ) {}

  get jsobj(): SessionHandler | undefined {
    return this.handler;
  }
  set jsobj(handler: SessionHandler | undefined) {
    this.handler = handler;
    if (!handler) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const tell of waiting) later(() => tell(handler), this.onFault);
  }

  /** True when the session ended with its connection and nobody closed it. */
  get lost(): boolean {
    return this.lostConnection;
  }

  orderBidiStream(options: StreamOptions): boolean {
    return this.order(false, options);
  }
  orderUnidiStream(options: StreamOptions): boolean {
    return this.order(true, options);
  }

  /** Sends a datagram; without room it is lost. */
  writeDatagram(payload: Uint8Array): { code: DatagramOutcome } {
    return { code: this.sendDatagram(payload, false) };
  }
  /** Sends a datagram. Without room, the caller may offer it again after `onDatagramsWritable`. */
  offerDatagram(payload: Uint8Array): DatagramOutcome {
    const outcome = this.sendDatagram(payload, true);
    this.offered ||= outcome === 'blocked';
    return outcome;
  }
  /** Like `writeDatagram`, but sends all datagrams of a turn in one call of the transport. */
  writeDatagrams({ bytes, sizes }: DatagramBatch): void {
    if (!this.closed) this.endpoint.sendSessionDatagrams(this.connection, this.id, bytes, sizes);
  }
  getMaxDatagramSize(): number {
    return this.closed ? 0 : this.endpoint.maxSessionDatagram(this.connection, this.id);
  }

  orderSessionStats(): void {
    const status = this.endpoint.connectionStatus(this.connection) as PathTimes | undefined;
    const path = status?.paths?.[0];
    const datagrams = this.datagramCounts();
    this.tell((handler) =>
      handler.onSessionStats({
        timestamp: Date.now(),
        expiredOutgoing: datagrams.expired,
        lostOutgoing: datagrams.lost,
        minRtt: path?.minRttMs ?? 0,
        smoothedRtt: path?.smoothedRttMs ?? 0,
        rttVariation: 0,
        estimatedSendRateBps: path && path.smoothedRttMs > 0 ? (path.congestionWindow * 8000) / path.smoothedRttMs : 0,
      }),
    );
  }
  orderDatagramStats(): void {
    const { expired, lost, sent, acknowledged } = this.datagramCounts();
    this.tell((handler) =>
      handler.onDatagramStats({
        timestamp: Date.now(),
        expiredOutgoing: expired,
        lostOutgoing: lost,
        sentOutgoing: sent,
        acknowledgedOutgoing: acknowledged,
      }),
    );
  }
  /** Returns the counts of datagrams so far; the last known ones once the session is closed. */
  datagramCounts(): DatagramCounts {
    this.lastCounts = this.endpoint.sessionDatagramCounts(this.connection, this.id) ?? this.lastCounts;
    return this.lastCounts;
  }

  notifySessionDraining(): void {
    if (!this.closed) this.endpoint.drainSession(this.connection, this.id);
  }
  close({ code, reason }: { code: number; reason: string }): void {
    if (!this.closed) this.endpoint.closeSession(this.connection, this.id, code, reason);
  }

  // --- events of the addon ---

  onReady(): void {
    this.tell((handler) => handler.onReady({ object: this }));
  }
  onIncomingStream(id: number, unidirectional: boolean): void {
    const stream = this.stream(id);
    this.tell((handler) => handler.onStream({ stream, bidirectional: !unidirectional, incoming: true, sendOrder: 0 }));
  }
  onDatagrams(batch: DatagramBatch): void {
    this.tell((handler) => {
      if (handler.onDatagramsReceived) return handler.onDatagramsReceived(batch);
      for (const datagram of batch) handler.onDatagramReceived?.({ datagram });
    });
  }
  onDatagramsWritable(): void {
    if (!this.offered) return;
    this.offered = false;
    this.tell((handler) => handler.onDatagramsWritable?.());
  }
  onDraining(): void {
    this.tell((handler) => handler.onGoAwayReceived({}));
  }
  onClosed(code: number, reason: string): void {
    if (this.closed) return;
    this.closed = true;
    this.tell((handler) => handler.onClose({ errorcode: code, error: reason }));
  }
  onConnectionLost(code: number, reason: string): void {
    this.lostConnection ||= !this.closed;
    this.onClosed(code, reason);
  }
  /** Called when the peer allows more streams. */
  onStreamsAvailable(): void {
    while (this.wanted.length > 0 && this.open(this.wanted[0]!.unidirectional)) this.wanted.shift();
  }

  private sendDatagram(payload: Uint8Array, waits: boolean): DatagramOutcome {
    if (this.closed) return 'internalError';
    if (payload.byteLength > this.getMaxDatagramSize()) return 'tooBig';
    return this.endpoint.sendSessionDatagram(this.connection, this.id, payload, waits) > 0 ? 'success' : 'blocked';
  }

  private order(unidirectional: boolean, options: StreamOptions): boolean {
    if (this.closed) return false;
    if (this.wanted.length === 0 && this.open(unidirectional)) return true;
    if (options.waitUntilAvailable) this.wanted.push({ unidirectional });
    return options.waitUntilAvailable ?? false;
  }

  private open(unidirectional: boolean): boolean {
    const id = this.endpoint.openSessionStream(this.connection, this.id, unidirectional);
    if (id < 0) return false;
    const stream = this.stream(id);
    this.tell((handler) => handler.onStream({ stream, bidirectional: !unidirectional, incoming: false, sendOrder: 0 }));
    return true;
  }

  private stream(id: number): NativeStream {
    const stream = new NativeStream(this.endpoint, this.connection, id, this.id, this.onFault);
    this.streams.add(stream);
    return stream;
  }

  /** Calls the handler in order, and never from inside a call of the handler. */
  private tell(what: (handler: SessionHandler) => void): void {
    const handler = this.handler;
    if (handler) later(() => what(handler), this.onFault);
    else this.waiting.push(what);
  }
}

import { EventKind, refusalText, type FlatFields, type NativeEndpoint, type NativeEvent } from '../addon.js';
import { closedError, type Closed } from '../connection_closed.js';
import { toHeaderMap } from '../headers.js';
import { QuicError } from '../quic_error.js';
import { DatagramBatch } from './datagram_batch.js';
import { NativeSession } from './native_session.js';
import type { NativeStream } from './native_stream.js';

/** Code for sessions whose application failed. */
const APPLICATION_FAILED = 1;

export function isSessionEvent(kind: EventKind): boolean {
  return kind >= EventKind.sessionReady && kind <= EventKind.sessionDatagramsWritable;
}

/** The WebTransport sessions of one connection and their streams. */
export class WebTransportConnection {
  private readonly sessions = new Map<number, NativeSession>();
  private readonly streams = new Map<number, NativeStream>();
  private readonly requested = new Map<
    number,
    { resolve: (session: NativeSession) => void; reject: (error: Error) => void }
  >();
  private readonly settings: Promise<boolean>;
  private settle!: (webtransport: boolean) => void;

  constructor(
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    private readonly onFault: (error: unknown) => void,
  ) {
    this.settings = new Promise((resolve) => (this.settle = resolve));
  }

  get size(): number {
    return this.sessions.size;
  }

  /** Server: accepts a session with status 200. @throws QuicError when the request is gone */
  accept(session: number, fields: FlatFields): NativeSession {
    const outcome = this.endpoint.acceptSession(this.connection, session, fields);
    if (outcome < 0) throw new QuicError('SESSION_REFUSED', `session: ${refusalText(outcome)}`);
    const accepted = this.add(session);
    accepted.onReady();
    return accepted;
  }

  /** Client: opens a session. @throws QuicError when the server has no WebTransport or refuses */
  async request(fields: FlatFields): Promise<NativeSession> {
    if (!(await this.settings)) throw new QuicError('SESSION_REFUSED', 'the server does not support WebTransport');
    const session = this.endpoint.requestSession(this.connection, fields);
    if (session < 0) throw new QuicError('SESSION_REFUSED', `session: ${refusalText(session)}`);
    return new Promise((resolve, reject) => this.requested.set(session, { resolve, reject }));
  }

  /** Client: resolves once the server's settings are known. */
  supported(): Promise<boolean> {
    return this.settings;
  }
  onSettings(webtransport: boolean): void {
    this.settle(webtransport);
  }

  onEvent(event: NativeEvent): void {
    const id = event[2] as number;
    switch (event[0]) {
      case EventKind.sessionReady:
        return this.onReady(id, event[3] as FlatFields);
      case EventKind.sessionRejected:
        this.requested
          .get(id)
          ?.reject(new QuicError('SESSION_REFUSED', `the server answered ${String(event[3])}`, event[3] as number));
        this.requested.delete(id);
        return;
      case EventKind.sessionClosed:
        this.sessions.get(id)?.onClosed(event[3] as number, event[4] as string);
        this.sessions.delete(id);
        return;
      case EventKind.sessionDraining:
        return this.sessions.get(id)?.onDraining();
      case EventKind.sessionDatagrams:
        return this.sessions.get(id)?.onDatagrams(new DatagramBatch(event[3] as Buffer, event[4] as Uint32Array));
      case EventKind.sessionDatagramsWritable:
        for (const session of this.sessions.values()) session.onDatagramsWritable();
        return;
      case EventKind.sessionStream: {
        const session = this.sessions.get(event[3] as number);
        return session?.onIncomingStream(id, event[4] as boolean);
      }
      case EventKind.sessionStreamsAvailable:
        for (const session of this.sessions.values()) session.onStreamsAvailable();
        return;
      default:
        return this.onStreamEvent(event, id);
    }
  }

  onConnectionClosed(closed: Closed): void {
    const reason = closedError(closed)?.message ?? 'the connection was closed';
    this.settle(false);
    for (const session of this.sessions.values()) session.onConnectionLost(closed.code, reason);
    for (const { reject } of this.requested.values()) reject(new QuicError('CONNECTION_CLOSED', reason));
    this.sessions.clear();
    this.streams.clear();
    this.requested.clear();
  }

  private add(id: number): NativeSession {
    const streams = { add: (stream: NativeStream) => this.streams.set(stream.id, stream) };
    const session: NativeSession = new NativeSession(this.endpoint, this.connection, id, streams, (error) =>
      this.fail(session, error),
    );
    this.sessions.set(id, session);
    return session;
  }

  /** Closes the session of an application that failed: nobody knows its state. Other sessions go on. */
  private fail(session: NativeSession, error: unknown): void {
    this.onFault(error);
    session.close({ code: APPLICATION_FAILED, reason: 'internal error' });
  }

  private onReady(id: number, fields: FlatFields): void {
    const waiting = this.requested.get(id);
    this.requested.delete(id);
    if (!waiting) return;
    const session = this.add(id);
    session.headers = toHeaderMap(fields);
    session.onReady();
    waiting.resolve(session);
  }

  private onStreamEvent(event: NativeEvent, id: number): void {
    const stream = this.streams.get(id);
    if (!stream) return;
    switch (event[0]) {
      case EventKind.sessionStreamReadable:
        return stream.onReadable();
      case EventKind.sessionStreamWritable:
        return stream.onWritable();
      case EventKind.sessionStreamReset:
        return stream.onReset(event[3] as number);
      case EventKind.sessionStreamStopped:
        return stream.onStopped(event[3] as number);
      case EventKind.sessionStreamClosed:
        this.streams.delete(id);
        return stream.onClosed();
      default:
        return;
    }
  }
}

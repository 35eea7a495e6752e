import type { Http3Client, RelayedSession, RequestHeaders, WebTransportRequest } from '../types.js';
import type { DatagramBatch } from './datagram_batch.js';
import type { NativeSession, SessionHandler } from './native_session.js';
import type { NativeStream, NetworkTask, StreamHandler } from './native_stream.js';
import type { NativeWebTransportRequest } from './request.js';
import type { SessionClient } from './session_client.js';

interface Ending {
  closeCode: number | undefined;
  reason: string;
}

interface Close {
  code: number;
  reason: string;
}

/** The close that each side gets when the other side is gone without one. The code is the HTTP status. */
const clientLost: Close = { code: 0, reason: '' };
const serverLost: Close = { code: 502, reason: 'the connection to the gateway was lost' };

/**
 * Opens the session that `request` asks for over `client`, and accepts `request`. Then passes everything on in both
 * directions: streams with their ends and resets, datagrams, the close.
 */
export async function relayWebTransport(
  request: WebTransportRequest,
  client: Http3Client,
  headers: RequestHeaders,
): Promise<RelayedSession> {
  const server = await (client as SessionClient).openNativeSession(request.url, headers, request.authority);
  try {
    // The protocol that the server chose among those that the client offers (draft-ietf-webtrans-http3-16 §3.3).
    const chosen = server.headers['wt-protocol'];
    const client = (request as NativeWebTransportRequest).acceptNative(
      chosen === undefined ? {} : { 'wt-protocol': chosen },
    );
    return new SessionRelay(client, server);
  } catch (error) {
    // The client has gone away meanwhile.
    server.close({ code: 0, reason: '' });
    throw error;
  }
}

class SessionRelay implements RelayedSession {
  readonly closed: Promise<Ending>;
  private end!: (ending: Ending) => void;

  constructor(
    private readonly client: NativeSession,
    private readonly server: NativeSession,
  ) {
    this.closed = new Promise((resolve) => (this.end = resolve));
    const toServer = new SessionSide(client, server, (ending) => this.onClosed(server, ending, clientLost));
    const toClient = new SessionSide(server, client, (ending) => this.onClosed(client, ending, serverLost));
    toServer.opposite = toClient;
    toClient.opposite = toServer;
    client.jsobj = toServer;
    server.jsobj = toClient;
  }

  drain(): void {
    this.client.notifySessionDraining();
    this.server.notifySessionDraining();
  }

  close(code: number, reason: string): void {
    this.client.close({ code, reason });
    this.server.close({ code, reason });
  }

  private onClosed(other: NativeSession, ending: Ending, lost: Close): void {
    other.close(ending.closeCode === undefined ? lost : { code: ending.closeCode, reason: ending.reason });
    this.end(ending);
  }
}

/** Passes on to the other session what comes from one of the two. */
class SessionSide implements SessionHandler {
  opposite!: SessionSide;
  /** Streams of the other session that wait for their counterpart in this one. */
  private readonly wanted = { bidirectional: [] as StreamEnd[], unidirectional: [] as StreamEnd[] };

  constructor(
    private readonly session: NativeSession,
    private readonly other: NativeSession,
    private readonly closed: (ending: Ending) => void,
  ) {}

  onReady(): void {
    // Nothing to do: both sessions are open before they meet here.
  }
  onClose({ errorcode, error }: { errorcode: number; error: string }): void {
    this.closed({ closeCode: this.session.lost ? undefined : errorcode, reason: error });
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
    const end = new StreamEnd(stream, { readable: incoming || bidirectional, writable: !incoming || bidirectional });
    if (incoming) return this.opposite.open(end, bidirectional);
    const source = this.wanted[bidirectional ? 'bidirectional' : 'unidirectional'].shift();
    if (!source) return;
    source.join(end);
    end.join(source);
  }
  onDatagramsReceived(batch: DatagramBatch): void {
    // Datagrams that do not fit, or find the queue full, are lost, as datagrams may be.
    this.other.writeDatagrams(batch);
  }
  onGoAwayReceived(): void {
    this.other.notifySessionDraining();
  }
  onSessionStats(): void {
    // Nothing to do: nobody asks for statistics.
  }
  onDatagramStats(): void {
    // Nothing to do: nobody asks for statistics.
  }

  /**
   * Opens the counterpart of `source`. Waits for the peer's credit when there is none; `source` is not read meanwhile.
   */
  private open(source: StreamEnd, bidirectional: boolean): void {
    this.wanted[bidirectional ? 'bidirectional' : 'unidirectional'].push(source);
    const options = { waitUntilAvailable: true };
    if (bidirectional) this.session.orderBidiStream(options);
    else this.session.orderUnidiStream(options);
  }
}

interface Signal {
  code: number;
  nettask: NetworkTask;
}

/** One end of a relayed stream: bytes read from it are written to its counterpart. */
class StreamEnd implements StreamHandler {
  private counterpart: StreamEnd | undefined;
  private readonly early: Signal[] = [];

  constructor(
    private readonly stream: NativeStream,
    private readonly halves: { readable: boolean; writable: boolean },
  ) {
    stream.jsobj = this;
  }

  join(counterpart: StreamEnd): void {
    this.counterpart = counterpart;
    if (this.halves.readable) this.stream.startReading();
    for (const signal of this.early.splice(0)) counterpart.obey(signal);
  }

  getReadBuffer({ byteSize }: { byteSize: number }): { buffer: Uint8Array; fin: boolean } {
    return { buffer: Buffer.allocUnsafe(byteSize), fin: false };
  }
  commitReadBuffer({ buffer, readBytes = 0, fin }: { buffer?: Uint8Array; readBytes?: number; fin: boolean }): {
    stopReading?: boolean;
  } {
    const target = this.counterpart?.stream;
    if (!target) return {};
    if (fin) target.streamFinal();
    const room = fin || readBytes === 0 || target.lendChunk((buffer as Buffer).subarray(0, readBytes)) !== 0;
    return { stopReading: !room };
  }
  /** Called when there is room again. */
  onStreamWrite(): void {
    this.counterpart?.stream.startReading();
  }
  onStreamNetworkFinish(): void {
    // Nothing to do: this reports what this side did itself.
  }
  onStreamRecvSignal(signal: Signal): void {
    if (this.counterpart) this.counterpart.obey(signal);
    else this.early.push(signal);
  }

  /** Called when the peer of the counterpart reset its half, or does not want ours. */
  private obey({ code, nettask }: Signal): void {
    if (nettask === 'resetStream' && this.halves.writable) this.stream.resetStream(code);
    if (nettask === 'stopSending' && this.halves.readable) this.stream.stopSending(code);
  }
}

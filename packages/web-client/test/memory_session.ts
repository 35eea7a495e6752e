import type { BidirectionalStream } from '../src/protocol/index.js';
import type { PageSession } from '../src/gateway_side/index.js';
import type { Transport } from '../src/service_worker/gateway_session.js';

export interface CloseInfo {
  closeCode?: number;
  reason?: string;
}

export interface MemorySession {
  readonly browser: Transport;
  readonly gateway: PageSession;
  /** What either side closed the session with. */
  readonly closed: Promise<CloseInfo>;
  /** The session and all its streams fail, as when the connection is lost. */
  lose(): void;
  /** Nothing gets through any more in either direction, and nobody is told. */
  silence(): void;
}

/** Two ends of a WebTransport session in memory, with resets and back-pressure. */
export function memorySession(): MemorySession {
  let silent = false;
  const lost = new AbortController();
  let resolve: (info: CloseInfo) => void;
  const closed = new Promise<CloseInfo>((settle) => {
    resolve = settle;
  });
  const ended = Promise.race([closed, rejection(lost.signal)]);
  ended.catch(() => undefined);

  const pipe = (): TransformStream<Uint8Array, Uint8Array> => {
    let controller: TransformStreamDefaultController<Uint8Array>;
    const stream = new TransformStream<Uint8Array, Uint8Array>({
      start: (created) => {
        controller = created;
      },
      transform: (chunk) => {
        if (!silent) controller.enqueue(chunk);
      },
    });
    lost.signal.addEventListener('abort', () => controller.error(new Error('connection lost')));
    void closed.then(() => controller.error(new Error('session closed')));
    return stream;
  };

  const streams = new TransformStream<BidirectionalStream, BidirectionalStream>(undefined, undefined, {
    highWaterMark: 1000,
  });
  const opener = streams.writable.getWriter();
  const finish = (): void => void opener.close().catch(() => undefined);
  ended.then(finish, finish);
  const up = pipe();
  const down = pipe();
  const close = (info: CloseInfo = {}): void => resolve(info);
  return {
    closed,
    lose: () => lost.abort(),
    silence: () => {
      silent = true;
    },
    browser: {
      ready: Promise.resolve(),
      closed: ended,
      datagrams: { readable: down.readable, writable: up.writable },
      close,
      async createBidirectionalStream() {
        if (lost.signal.aborted) throw new Error('connection lost');
        const there = pipe();
        const back = pipe();
        await opener.write({ readable: there.readable, writable: back.writable });
        return { readable: back.readable, writable: there.writable };
      },
    },
    gateway: {
      closed: ended,
      datagrams: { readable: up.readable, writable: down.writable },
      close,
      incomingBidirectionalStreams: streams.readable,
    },
  };
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('connection lost')));
  });
}

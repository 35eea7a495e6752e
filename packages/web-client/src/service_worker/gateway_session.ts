import type { BidirectionalStream } from '../protocol/index.js';
import { Heartbeat, type Datagrams } from './heartbeat.js';

/** The part of the browser's WebTransport that is used here */
export interface Transport {
  readonly ready: Promise<unknown>;
  readonly closed: Promise<unknown>;
  readonly datagrams: Datagrams;
  createBidirectionalStream(): Promise<BidirectionalStream>;
  close(info?: { closeCode?: number; reason?: string }): void;
}

/** No session is available now, and nothing was sent. */
export class SessionUnavailable extends Error {
  override readonly name = 'SessionUnavailable';
}

/** A stream that can report that its session responds */
export interface SessionStream extends BidirectionalStream {
  /** Call this whenever bytes arrive. */
  heard(): void;
  /** Call this when nothing more is expected on the stream. */
  finished(): void;
}

export interface SessionStatus {
  readonly state: 'closed' | 'opening' | 'open' | 'waiting';
  /** Time in milliseconds from the start of the session until it was ready; undefined before the first one */
  readonly openedInMs: number | undefined;
  /** Number of sessions opened since the worker started */
  readonly sessions: number;
  /** Latest round-trip time of a ping, in milliseconds */
  readonly roundTripMs: number | undefined;
  /** Why the latest attempt failed; undefined after a success */
  readonly failure: string | undefined;
}

// A handshake that loses one packet in each direction takes about 2 s. Beyond 3 s, plain fetch is faster.
const OPEN_TIMEOUT_MS = 3_000;
// After a failure, requests use the network at once, and the session is opened again only after a pause.
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
// New stream credit arrives within a round trip.
const STREAM_PAUSES_MS = [10, 30, 90, 270, 810];

/**
 * Manages at most one WebTransport session with the gateway. It opens when the first stream is wanted, is watched by a
 * heartbeat, and reopens after it ended.
 */
export class GatewaySession {
  private current: Promise<Connected> | undefined;
  private state: SessionStatus['state'] = 'closed';
  private failures = 0;
  private failure: string | undefined;
  private retryAt = 0;
  private sessions = 0;
  private openedInMs: number | undefined;
  private heartbeat: Heartbeat | undefined;

  /**
   * `connect` starts a session. After a failure it is called again with `refresh`, and then rejects if the
   * configuration is unchanged.
   */
  constructor(private readonly connect: (refresh: boolean) => Promise<Transport>) {}

  status(): SessionStatus {
    return {
      state: this.state,
      openedInMs: this.openedInMs,
      sessions: this.sessions,
      roundTripMs: this.heartbeat?.roundTripMs,
      failure: this.failure,
    };
  }

  /** Forgets earlier failures, since the configuration or the network has changed. */
  reset(): void {
    this.failures = 0;
    this.retryAt = 0;
  }

  /** Opens the session ahead of the first stream. `status` tells whether that succeeded. */
  async warmUp(): Promise<void> {
    await this.opened().catch(() => undefined);
  }

  /** Opens a stream, and the session first if needed. @throws SessionUnavailable */
  async openStream(): Promise<SessionStream> {
    for (const pause of [...STREAM_PAUSES_MS, undefined]) {
      const { transport, heartbeat } = await this.opened();
      try {
        const { readable, writable } = await transport.createBidirectionalStream();
        heartbeat.expect();
        return {
          readable,
          writable,
          heard: () => heartbeat.heard(),
          finished: () => heartbeat.done(),
        };
      } catch {
        // There is no stream credit, or the session has just ended, which `opened` tells next time.
        if (pause !== undefined) await sleep(pause);
      }
    }
    throw new SessionUnavailable('the gateway grants no more streams');
  }

  private opened(): Promise<Connected> {
    if (this.current === undefined) {
      if (Date.now() < this.retryAt) return Promise.reject(new SessionUnavailable('waiting'));
      const attempt = this.open();
      this.current = attempt;
      attempt.catch(() => this.forget(attempt, 'waiting'));
    }
    return this.current;
  }

  private async open(): Promise<Connected> {
    this.state = 'opening';
    const start = performance.now();
    try {
      const transport = await this.readyOrRefreshed();
      this.openedInMs = performance.now() - start;
      this.sessions += 1;
      this.failures = 0;
      this.failure = undefined;
      this.state = 'open';
      return this.watch(transport);
    } catch (error) {
      this.retryAt = Date.now() + Math.min(FIRST_PAUSE_MS * 2 ** this.failures, MAX_PAUSE_MS);
      this.failures += 1;
      this.failure = String(error);
      throw new SessionUnavailable('the session cannot be opened', { cause: error });
    }
  }

  /** Tries again with a refreshed description, since the gateway may have a new certificate. */
  private async readyOrRefreshed(): Promise<Transport> {
    try {
      return await this.ready(false);
    } catch (error) {
      try {
        return await this.ready(true);
      } catch {
        throw error; // The first error says more.
      }
    }
  }

  private async ready(refresh: boolean): Promise<Transport> {
    const transport = await this.connect(refresh);
    transport.closed.catch(() => undefined);
    let timer;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('took too long')), OPEN_TIMEOUT_MS);
    });
    try {
      await Promise.race([transport.ready, timeout]);
      return transport;
    } catch (error) {
      transport.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private watch(transport: Transport): Connected {
    const heartbeat = new Heartbeat(transport.datagrams, () => {
      transport.close({ reason: 'no response' });
      end();
    });
    const current = this.current;
    const end = (): void => {
      heartbeat.stop();
      this.forget(current, 'closed');
    };
    transport.closed.then(end, end);
    this.heartbeat = heartbeat;
    return { transport, heartbeat };
  }

  private forget(attempt: Promise<Connected> | undefined, state: SessionStatus['state']): void {
    if (this.current !== attempt) return;
    this.current = undefined;
    this.state = state;
  }
}

interface Connected {
  readonly transport: Transport;
  readonly heartbeat: Heartbeat;
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

import type { Http3Client } from '@sheaf/native';
import { SilenceWatch } from './silence_watch.js';

/** Time in milliseconds for which a silent connection may still come back, once another one is open */
const shortestGraceMs = 5_000;

export interface OpenedConnectionOptions {
  client: Http3Client;
  /** Whether somebody is to hear when the gateway is silent */
  watched: boolean;
  /** The gateway is silent, and this connection is in use. */
  onSilent(): void;
  /** The gateway is heard again. */
  onHeard(): void;
  /** The connection is over. */
  onClose(error: Error | undefined): void;
}

/** A connection to the gateway from its handshake to its end */
export class OpenedConnection {
  readonly client: Http3Client;
  readonly openedAt = Date.now();
  readonly #watch: SilenceWatch | undefined;
  /** To be called once new requests go elsewhere */
  readonly #onLeft = new Set<() => void>();
  #retired = false;
  #silentSince: number | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor({ client, watched, onSilent, onHeard, onClose }: OpenedConnectionOptions) {
    this.client = client;
    client.once('close', (error) => {
      this.#watch?.stop();
      clearTimeout(this.#grace);
      this.#leave();
      onClose(error);
    });
    if (!watched) return;
    this.#watch = new SilenceWatch(client, {
      onSilent: (since) => {
        this.#silentSince = since;
        if (this.#retired) this.#abandonLater(since);
        else onSilent();
      },
      onHeard: () => {
        this.#silentSince = undefined;
        clearTimeout(this.#grace);
        if (!this.#retired) onHeard();
      },
      onLook: () => {
        if (this.#retired && client.openRequests === 0) this.#close();
      },
    });
  }

  get silent(): boolean {
    return this.#silentSince !== undefined;
  }

  /** Calls `listener` once new requests go elsewhere. Returns a function that ends this. */
  onLeft(listener: () => void): () => void {
    this.#onLeft.add(listener);
    return () => void this.#onLeft.delete(listener);
  }

  /** New requests go elsewhere. Those that are open go on, unless the gateway is silent and stays so. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#leave();
    if (this.#silentSince !== undefined) this.#abandonLater(this.#silentSince);
  }

  /**
   * Another connection answered, so the way to the gateway works. The time between two probes doubles (RFC 9002 §6.2.1): after as
   * much time again as the silence has lasted, one more of them had its chance.
   */
  #abandonLater(since: number): void {
    clearTimeout(this.#grace);
    const graceMs = Math.max(shortestGraceMs, performance.now() - since);
    this.#grace = setTimeout(() => this.#close(), graceMs).unref();
  }

  #leave(): void {
    for (const listener of this.#onLeft) listener();
    this.#onLeft.clear();
  }

  #close(): void {
    void this.client.close().catch(() => undefined);
  }
}

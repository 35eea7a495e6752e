import type { Http3Client } from '@sheaf/native';
import type { Logger } from 'pino';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import type { NextServer } from '../../http/request_trace.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import { formatAddress } from '../../values/listen_error.js';
import type { GatewayLinkStatus } from '../../observability/status.js';

/** The gateway did not accept a connection. */
export class GatewayUnreachable extends Error {
  /** Whether the gateway did not answer in time */
  readonly timeout: boolean;

  constructor(cause: unknown) {
    super(errorMessage(cause), { cause });
    this.name = 'GatewayUnreachable';
    this.timeout = systemErrorCode(cause) === 'CONNECT_TIMEOUT';
  }
}

export interface GatewayConnectionOptions {
  host: string;
  port: number;
  /** Opens a connection. `attempt` counts the failures since the latest success. */
  connect(attempt: number): Promise<Http3Client>;
  /** Informs about a new connection. Returns a function to call when the connection is gone. */
  onOpen(client: Http3Client): () => void;
  log: Logger;
}

/** Pauses between failed attempts */
const pauses: BackOff = { first: 100, longest: 3_000 };
/** Lifetime in milliseconds below which a connection counts as failed */
const shortLifeMs = 1_000;

/** The one connection of a node to its gateway. It opens when a request needs it, and again after a loss. */
export class GatewayConnection {
  readonly #options: GatewayConnectionOptions;
  #client: Http3Client | undefined;
  #opening: Promise<Http3Client> | undefined;
  #failures = 0;
  #retryAt = 0;
  #reason: string | undefined;
  #opened = 0;
  #closed = false;
  /** Connections that accept no more requests but may still answer earlier ones */
  readonly #retired = new Set<Http3Client>();

  constructor(options: GatewayConnectionOptions) {
    this.#options = options;
  }

  /**
   * Returns the open connection, or opens one. Callers during an attempt, or during the pause after a failed one, wait
   * for the same attempt.
   * @throws GatewayUnreachable
   */
  async open(): Promise<Http3Client> {
    if (this.#closed) throw new GatewayUnreachable(new Error('this node is stopping'));
    if (this.#client) return this.#client;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  /** The gateway, as a server that requests are passed on to */
  get server(): NextServer {
    const { host: address, port } = this.#options;
    return { name: 'gateway', scheme: 'https', address, port, httpVersion: '3' };
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends no more requests on this connection. The next request opens another one. */
  retire(client: Http3Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#retired.add(client);
  }

  status(): GatewayLinkStatus {
    const { host, port } = this.#options;
    const state = this.#client
      ? 'open'
      : Date.now() < this.#retryAt
        ? 'waiting'
        : this.#opening
          ? 'connecting'
          : 'idle';
    return {
      address: formatAddress({ address: host, port }),
      state,
      opened: this.#opened,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      ...(this.#client ? { connection: this.#client.status() } : {}),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const clients = [...this.#retired, ...(this.#client ? [this.#client] : [])];
    await Promise.all(clients.map((client) => client.close().catch(() => undefined)));
  }

  async #open(): Promise<Http3Client> {
    const { connect, host, port, log, onOpen } = this.#options;
    await pauseUntil(this.#retryAt);
    try {
      const client = await connect(this.#failures);
      if (this.#closed) {
        await client.close();
        throw new Error('this node is stopping');
      }
      const openedAt = Date.now();
      // Backends may still have responses in flight, but new requests need a gateway.
      client.once('primaryLost', () => this.retire(client));
      const end = onOpen(client);
      client.once('close', (error) => {
        end();
        this.#onClose(client, openedAt, error);
      });
      this.#client = client;
      this.#opened += 1;
      this.#reason = undefined;
      log.info({ gateway: formatAddress({ address: host, port }) }, 'connected to the gateway');
      return client;
    } catch (error) {
      this.#failed(errorMessage(error));
      throw new GatewayUnreachable(error);
    }
  }

  #onClose(client: Http3Client, openedAt: number, error: Error | undefined): void {
    this.#retired.delete(client);
    const reason = error?.message ?? 'closed';
    if (!this.#closed) this.#options.log.info({ reason }, 'the connection to the gateway ended');
    if (this.#client !== client) return;
    this.#client = undefined;
    if (Date.now() - openedAt < shortLifeMs) {
      this.#failed(reason);
      return;
    }
    this.#failures = 0;
    this.#reason = reason;
  }

  #failed(reason: string): void {
    this.#reason = reason;
    this.#retryAt = Date.now() + backOffMs(this.#failures, pauses);
    this.#failures += 1;
    if (!this.#closed) this.#options.log.warn({ reason, failures: this.#failures }, 'the gateway cannot be reached');
  }
}

async function pauseUntil(time: number): Promise<void> {
  const wait = time - Date.now();
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
}

import type { Http3Client } from '@sheaf/native';
import type { Logger } from 'pino';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import type { NextServer } from '../../http/request_trace.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import { formatAddress } from '../../values/listen_error.js';
import type { GatewayLinkStatus } from '../../observability/status.js';
import { OpenedConnection } from './opened_connection.js';

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
  /** Opens a second connection beside one on which the gateway is silent, and uses the first one that answers. */
  replacesSilent: boolean;
  log: Logger;
}

/** Pauses between failed attempts */
const pauses: BackOff = { first: 100, longest: 3_000 };
/** Lifetime in milliseconds below which a connection counts as failed */
const shortLifeMs = 1_000;

/** The one connection of a node to its gateway. It opens when a request needs it, and again after a loss. */
export class GatewayConnection {
  readonly #options: GatewayConnectionOptions;
  #current: OpenedConnection | undefined;
  #opening: Promise<Http3Client> | undefined;
  /** Connections that accept no more requests but may still answer earlier ones */
  readonly #retired = new Set<OpenedConnection>();
  /** What waits for a word of the gateway on a connection that was silent */
  #onHeard: ((client: Http3Client) => void)[] = [];
  #failures = 0;
  #retryAt = 0;
  #reason: string | undefined;
  #opened = 0;
  #closed = false;

  constructor(options: GatewayConnectionOptions) {
    this.#options = options;
  }

  /**
   * Returns the open connection, or opens one. Callers during an attempt, or during the pause after a failed one, wait
   * for the same attempt, or until a silent connection is heard again.
   * @throws GatewayUnreachable
   */
  async open(): Promise<Http3Client> {
    if (this.#closed) throw new GatewayUnreachable(new Error('this node is stopping'));
    if (!this.#current) return this.#openOnce();
    const { client, silent } = this.#current;
    if (!silent) return client;
    const heard = new Promise<Http3Client>((resolve) => void this.#onHeard.push(resolve));
    return Promise.race([heard, this.#openOnce()]);
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
    if (this.#current?.client !== client) return;
    this.#retired.add(this.#current);
    this.#current.retire();
    this.#current = undefined;
  }

  /** Calls `listener` once new requests no longer go to this connection. Returns a function that ends this. */
  onLeft(client: Http3Client, listener: () => void): () => void {
    if (this.#current?.client === client) return this.#current.onLeft(listener);
    queueMicrotask(listener);
    return () => undefined;
  }

  status(): GatewayLinkStatus {
    const { host, port } = this.#options;
    const state = this.#current
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
      connections: this.#current ? [this.#current.client.status()] : [],
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#retired, ...(this.#current ? [this.#current] : [])];
    await Promise.all(all.map(({ client }) => client.close().catch(() => undefined)));
  }

  #openOnce(): Promise<Http3Client> {
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #open(): Promise<Http3Client> {
    const { connect } = this.#options;
    await pauseUntil(this.#retryAt);
    try {
      const client = await connect(this.#failures);
      if (this.#closed) {
        await client.close();
        throw new Error('this node is stopping');
      }
      return this.#use(client);
    } catch (error) {
      this.#failed(errorMessage(error));
      throw new GatewayUnreachable(error);
    }
  }

  /** Uses a new connection, unless the one that it was to replace is heard again. Returns the one in use. */
  #use(client: Http3Client): Http3Client {
    const { host, port, log, onOpen, replacesSilent } = this.#options;
    if (this.#current && !this.#current.silent) {
      void client.close().catch(() => undefined);
      return this.#current.client;
    }
    if (this.#current) this.retire(this.#current.client);
    // They get this connection from their race.
    this.#onHeard = [];
    // Backends may still have responses in flight, but new requests need a gateway.
    client.once('primaryLost', () => this.retire(client));
    const end = onOpen(client);
    const opened = new OpenedConnection({
      client,
      watched: replacesSilent,
      onSilent: () => void this.#replace(opened),
      onHeard: () => this.#heard(client),
      onClose: (error) => {
        end();
        this.#onClose(opened, error);
      },
    });
    this.#current = opened;
    this.#opened += 1;
    this.#reason = undefined;
    log.info({ gateway: formatAddress({ address: host, port }) }, 'connected to the gateway');
    return client;
  }

  /** Tries to open another connection until one answers, the silent one or the other. */
  async #replace(opened: OpenedConnection): Promise<void> {
    this.#options.log.warn('the gateway is silent');
    while (this.#current === opened && opened.silent && !this.#closed) await this.#openOnce().catch(() => undefined);
  }

  #heard(client: Http3Client): void {
    this.#options.log.info('the gateway is heard again');
    const waiting = this.#onHeard;
    this.#onHeard = [];
    for (const resolve of waiting) resolve(client);
  }

  #onClose(opened: OpenedConnection, error: Error | undefined): void {
    this.#retired.delete(opened);
    const reason = error?.message ?? 'closed';
    if (!this.#closed) this.#options.log.info({ reason }, 'the connection to the gateway ended');
    if (this.#current !== opened) return;
    this.#current = undefined;
    this.#onHeard = [];
    if (Date.now() - opened.openedAt < shortLifeMs) {
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

import { connectHttp3, type ClientRequestOptions, type Http3Client } from '@sheaf/native';
import type { FleetNode } from './fleet_nodes.js';

/** Milliseconds without any progress after which a client gives a request up */
export const clientPatienceMs = 3_000;

/** The end of a connection that its client did not close */
export interface Closing {
  gateway: string;
  /** Whether the process of the gateway that served it was killed before */
  withGateway: boolean;
  /** Why it ended, as the transport says */
  reason: string;
  at: number;
}

/** Connections of the clients, and how they ended */
export class Connections {
  opened = 0;
  /** Connections on which a client stopped to wait, of gateways that were not killed */
  givenUp = 0;
  readonly closings: Closing[] = [];
  readonly #port: number;
  readonly #gateways: readonly FleetNode[];
  readonly #idleTimeoutMs: number;

  constructor(port: number, gateways: readonly FleetNode[], idleTimeoutMs: number) {
    this.#port = port;
    this.#gateways = gateways;
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** Opens a connection, and asks which gateway serves it. Rejects when nobody does. */
  async open(): Promise<Connection> {
    const client = await connectHttp3({
      alpn: ['h3'],
      host: '127.0.0.1',
      port: this.#port,
      serverName: 'localhost',
      insecure: true,
      connectTimeoutMs: clientPatienceMs,
      idleTimeoutMs: this.#idleTimeoutMs,
    });
    try {
      const name = (await new Connection(client, undefined).get('/who/name')).toString();
      const gateway = this.#gateways.find((each) => each.name === name);
      if (!gateway) throw new Error(`'${name}' is no gateway`);
      const connection = new Connection(client, gateway);
      this.#watch(client, connection);
      this.opened += 1;
      return connection;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Closes a connection of a client that does not wait any longer. */
  async giveUp(connection: Connection): Promise<void> {
    if (!connection.closed && connection.gatewayLives) this.givenUp += 1;
    await connection.close();
  }

  #watch(client: Http3Client, connection: Connection): void {
    client.once('close', (error) => {
      if (!connection.closed)
        this.closings.push({
          gateway: connection.gateway,
          withGateway: !connection.gatewayLives,
          reason: error?.message ?? 'closed by the gateway',
          at: performance.now(),
        });
      connection.closed = true;
    });
  }
}

/** A connection through the balancer, which one gateway serves */
export class Connection {
  closed = false;
  readonly #client: Http3Client;
  readonly #gateway: FleetNode | undefined;
  readonly #start: number;

  constructor(client: Http3Client, gateway: FleetNode | undefined) {
    this.#client = client;
    this.#gateway = gateway;
    this.#start = gateway?.starts ?? 0;
  }

  get gateway(): string {
    return this.#gateway?.name ?? '';
  }

  /** Whether the process that serves the connection was not killed */
  get gatewayLives(): boolean {
    return this.#gateway !== undefined && this.#gateway.starts === this.#start && this.#gateway.runs;
  }

  request(options: ClientRequestOptions): ReturnType<Http3Client['request']> {
    return this.#client.request(options);
  }

  /** Returns the body of a small response. Rejects when it does not come in time, or is none of success. */
  async get(path: string, signal = AbortSignal.timeout(clientPatienceMs)): Promise<Buffer> {
    const response = await this.#client.request({ path, signal });
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return Buffer.concat(parts);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.#client.close();
  }
}

import type { ClientRequestOptions, ClientResponse, Http3Client } from '@sheaf/native';
import { BackendClient } from '../../multi_end/client/backend_client.js';
import { RouteMapCache } from '../../multi_end/client/route_map_cache.js';
import { GatewayUnreachable, type GatewayConnection } from '../uplink/gateway_connection.js';

/** Time in milliseconds that a download waits for a gateway after a backend could not finish it */
const anewMs = 15_000;

/** What sends the requests of an edge to the gateway and its backends: one client for each connection */
export class GatewayBackends {
  readonly #gateway: GatewayConnection;
  readonly #clients = new WeakMap<Http3Client, BackendClient>();
  readonly #routes = new RouteMapCache();

  constructor(gateway: GatewayConnection) {
    this.#gateway = gateway;
  }

  /** Takes a connection that was opened. */
  add(client: Http3Client): void {
    const elsewhere = (request: ClientRequestOptions): Promise<ClientResponse> => this.#askAnew(request);
    this.#clients.set(client, new BackendClient(client, { routes: this.#routes, elsewhere }));
  }

  /** Returns the client that sends requests over a connection of `add`. */
  of(client: Http3Client): BackendClient {
    const backends = this.#clients.get(client);
    if (!backends) throw new Error('this connection is not one of ours');
    return backends;
  }

  /** Repeats a request over another connection, since its own has lost the gateway, which may return. */
  async #askAnew(request: ClientRequestOptions): Promise<ClientResponse> {
    const gateway = this.#gateway;
    const deadline = Date.now() + anewMs;
    for (;;) {
      try {
        return await this.of(await gateway.open()).request(request);
      } catch (error) {
        const mayReturn = error instanceof GatewayUnreachable && !gateway.closed && Date.now() <= deadline;
        if (!mayReturn || request.signal?.aborted) throw error;
      }
    }
  }
}

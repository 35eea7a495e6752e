import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { ListenAddress } from '../values/scalars.js';
import { hostName } from '../http/router.js';
import type { NodeStatus } from './status.js';

/** What an operator may ask. */
export interface AdminSources {
  registry: Registry;
  status(): NodeStatus;
  /** Brings up to date what metrics and status say. */
  refresh(): Promise<void>;
  /** Lets a backend rest, or use it again; false when there is none of the name. */
  drainBackend?(name: string, drains: boolean): boolean;
}

/** Pages of other origins cannot send it without being asked first (CORS), and nobody here would answer. */
export const adminHeader = 'sheaf-admin';

/** Plain HTTP for operators: health, metrics, status. */
export class AdminServer {
  readonly #server: Server;
  readonly #address: ListenAddress;

  constructor(address: ListenAddress, sources: AdminSources) {
    this.#address = address;
    this.#server = createServer((request, response) => {
      answer(request, response, sources).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  /** Binds the port; rejects with the system's error. */
  async listen(): Promise<ListenAddress> {
    this.#server.listen({ host: this.#address.address, port: this.#address.port });
    await once(this.#server, 'listening');
    return { address: this.#address.address, port: (this.#server.address() as AddressInfo).port };
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/**
 * Whether the name cannot be that of a page from elsewhere: a page can make its own name resolve to this address (DNS
 * rebinding), and would then be of the same origin. Addresses, names without a dot and those that no registry gives away
 * (RFC 6761, RFC 6762, RFC 8375, and `.internal`) cannot be anybody's.
 */
function isOwnName(host: string): boolean {
  const name = hostName(host);
  return (
    isIP(name.replace(/^\[|\]$/g, '')) !== 0 ||
    /^[a-z0-9_-]+$/.test(name) ||
    /\.(?:localhost|local|internal|home\.arpa|test)$/.test(name)
  );
}

type Send = (code: number, type: string, text: string) => void;

async function answer(request: IncomingMessage, response: ServerResponse, sources: AdminSources): Promise<void> {
  const send: Send = (code, type, text) => {
    response
      .writeHead(code, { 'content-type': type, 'cache-control': 'no-store' })
      .end(request.method === 'HEAD' ? undefined : text);
  };
  const { host } = request.headers;
  if (host !== undefined && !isOwnName(host)) {
    send(421, 'text/plain', '421 Misdirected Request: ask by an IP address, localhost or a name without a dot\n');
    return;
  }
  const [, backend, action] = /^\/backends\/([\w-]+)\/(drain|resume)$/.exec(request.url ?? '') ?? [];
  if (backend !== undefined && request.method === 'POST') {
    if (request.headers[adminHeader] === undefined) {
      send(403, 'text/plain', `403 Forbidden: send the header ${adminHeader}: 1\n`);
      return;
    }
    if (sources.drainBackend?.(backend, action === 'drain') !== true) {
      send(404, 'text/plain', '404 Not Found: there is no such backend\n');
      return;
    }
    send(200, 'text/plain', `${action}\n`);
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    send(405, 'text/plain', '405 Method Not Allowed\n');
    return;
  }
  await show(request.url?.split('?', 1)[0], send, sources);
}

/** What can be looked at. */
async function show(path: string | undefined, send: Send, { registry, status, refresh }: AdminSources): Promise<void> {
  switch (path) {
    case '/healthz': {
      // Alive: the process answers. Whether it wants requests is /readyz.
      send(200, 'text/plain', 'ok\n');
      return;
    }
    case '/readyz': {
      const { state } = status();
      send(state === 'serving' ? 200 : 503, 'text/plain', `${state}\n`);
      return;
    }
    case '/metrics':
      await refresh();
      {
        send(200, registry.contentType, await registry.metrics());
        return;
      }
    case '/status':
      await refresh();
      {
        send(200, 'application/json', `${JSON.stringify(status())}\n`);
        return;
      }
    default: {
      send(404, 'text/plain', '404 Not Found: /healthz, /readyz, /metrics and /status are here\n');
      return;
    }
  }
}

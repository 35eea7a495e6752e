import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import { tunnelPageResource } from '@sheaf/web-client/server';
import type { Registry } from 'prom-client';
import type { ListenAddress } from '../values/scalars.js';
import { hostName } from '../http/router.js';
import { ChannelAway } from '../channels/channel_away.js';
import type { Published, Title } from '../channels/publication.js';
import type { ReloadOutcome } from './configuration_report.js';
import type { NodeState, NodeStatus } from './status.js';
import type { UpgradeOutcome } from './upgrade_report.js';
import { tunnelReport } from './tunnel_report.js';

/** The sources of an operator's answers */
export interface AdminSources {
  registry: Pick<Registry, 'contentType' | 'metrics'>;
  status(): NodeStatus;
  /** Updates what metrics and status report. */
  refresh(): Promise<void>;
  /** Drains a backend, or puts it back into service. Returns false when none has the name. */
  drainBackend?(name: string, drains: boolean): boolean;
  /** Reads the configuration again. Never rejects. */
  reload?(): Promise<ReloadOutcome>;
  /** Starts a process that takes over. Never rejects. */
  upgrade?(): Promise<UpgradeOutcome>;
  /** Publishes bytes on a channel. Returns undefined when none has the name. Rejects with `ChannelAway` when nobody serves it now. */
  publish?(channel: string, bytes: AsyncIterable<Buffer>, title: Title): Promise<Published> | undefined;
}

/** Header that pages of other origins cannot send without a preflight request (CORS), which this server refuses */
export const adminHeader = 'sheaf-admin';

/** Milliseconds for the header of a request */
const headersTimeout = 60_000;

/** Serves operators over plain HTTP: health, metrics, status. */
export class AdminServer {
  readonly #server: Server;
  readonly #address: ListenAddress;
  readonly #descriptor: number | undefined;

  /** `descriptor`: a socket that listens there already. Default: the server opens one. */
  constructor(address: ListenAddress, sources: AdminSources, descriptor?: number) {
    this.#address = address;
    this.#descriptor = descriptor;
    // The body of a publication takes as long as its source; `headersTimeout` still bounds what clients hold.
    this.#server = createServer({ requestTimeout: 0, headersTimeout }, (request, response) => {
      answer(request, response, sources).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  /** Binds the port. Rejects with the system's error. */
  async listen(): Promise<ListenAddress> {
    const { address: host, port } = this.#address;
    this.#server.listen(this.#descriptor === undefined ? { host, port } : { fd: this.#descriptor });
    await once(this.#server, 'listening');
    return { address: this.#address.address, port: (this.#server.address() as AddressInfo).port };
  }

  /** Refuses connections, and waits up to `drainMs` for requests in flight. */
  async close(drainMs: number): Promise<void> {
    const closed = this.#server.listening && once(this.#server, 'close');
    if (closed) this.#server.close();
    const cut = setTimeout(() => this.#server.closeAllConnections(), drainMs);
    await closed;
    if (closed) clearTimeout(cut);
  }
}

/**
 * Returns whether no foreign page can have this host name. By DNS rebinding, a page can make its own name resolve to
 * this address, and would then have the same origin. Nobody can register addresses, names without a dot, or names below
 * reserved domains (RFC 6761, RFC 6762, RFC 8375, and `.internal`).
 */
function isOwnName(host: string): boolean {
  const name = hostName(host);
  return (
    isIP(name.replace(/^\[|\]$/g, '')) !== 0 ||
    /^[a-z0-9_-]+$/.test(name) ||
    /\.(?:localhost|local|internal|home\.arpa|test)$/.test(name)
  );
}

/**
 * States in which such a resource answers yes. Whoever is not ready gets no more packets: kube-proxy forgets the UDP flows of a pod that
 * turns unready. So a node that drains is ready, and only takes no new connections.
 */
const statesOf: Readonly<Record<'/readyz' | '/acceptz', ReadonlySet<NodeState>>> = {
  '/readyz': new Set(['serving', 'draining']),
  '/acceptz': new Set(['serving']),
};

type Send = (code: number, type: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>) => void;

async function answer(request: IncomingMessage, response: ServerResponse, sources: AdminSources): Promise<void> {
  const send: Send = (code, type, body, headers) => {
    response
      .writeHead(code, { 'content-type': type, 'cache-control': 'no-store', ...headers })
      .end(request.method === 'HEAD' ? undefined : body);
  };
  const { host } = request.headers;
  if (host !== undefined && !isOwnName(host)) {
    send(421, 'text/plain', '421 Misdirected Request: ask by an IP address, localhost or a name without a dot\n');
    return;
  }
  if (request.url === '/reload' && request.method === 'POST') return reload(request, send, sources);
  if (request.url === '/upgrade' && request.method === 'POST') return upgrade(request, send, sources);
  const [, channel] = /^\/channels\/([\w-]+)(?:\?|$)/.exec(request.url ?? '') ?? [];
  if (channel !== undefined && request.method === 'POST') return publish(channel, request, send, sources);
  const [, backend, action] = /^\/backends\/([\w-]+)\/(drain|resume)$/.exec(request.url ?? '') ?? [];
  if (backend !== undefined && request.method === 'POST') {
    if (!isOwnRequest(request, send)) return;
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

/** Refuses what a page of another origin could send. */
function isOwnRequest(request: IncomingMessage, send: Send): boolean {
  if (request.headers[adminHeader] !== undefined) return true;
  send(403, 'text/plain', `403 Forbidden: send the header ${adminHeader}: 1\n`);
  return false;
}

/** Refuses also what has a body: the request says all by its name. */
function isBareRequest(request: IncomingMessage, send: Send): boolean {
  if (!isOwnRequest(request, send)) return false;
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (Number(length) === 0 && coding === undefined) return true;
  send(413, 'text/plain', '413 Content Too Large: the node reads its own file\n', { connection: 'close' });
  return false;
}

/** Starts a process that takes over from this one. */
async function upgrade(request: IncomingMessage, send: Send, sources: AdminSources): Promise<void> {
  if (!isBareRequest(request, send)) return;
  const outcome = await sources.upgrade?.();
  if (!outcome) send(404, 'text/plain', '404 Not Found: no other process can take over from this one\n');
  else send(outcome.accepted ? 200 : 422, 'application/json', `${JSON.stringify(outcome)}\n`);
}

/** Makes the process read its configuration again. */
async function reload(request: IncomingMessage, send: Send, sources: AdminSources): Promise<void> {
  if (!isBareRequest(request, send)) return;
  const outcome = await sources.reload?.();
  if (!outcome) send(404, 'text/plain', '404 Not Found: this node runs by no file that it could read again\n');
  else send(outcome.accepted ? 200 : 422, 'application/json', `${JSON.stringify(outcome)}\n`);
}

/** Publishes the body of a request under the title in its query. */
async function publish(channel: string, request: IncomingMessage, send: Send, sources: AdminSources): Promise<void> {
  if (!isOwnRequest(request, send)) return;
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
  const title = { name: query.get('name') ?? '', directory: query.has('directory') };
  const published = sources.publish?.(channel, request as AsyncIterable<Buffer>, title);
  if (!published) {
    send(404, 'text/plain', '404 Not Found: there is no such channel\n');
    return;
  }
  try {
    send(200, 'application/json', `${JSON.stringify(await published)}\n`);
  } catch (error) {
    if (!(error instanceof ChannelAway)) throw error;
    send(503, 'text/plain', `503 Service Unavailable: ${error.message}\n`, { 'retry-after': '1' });
  }
}

/** Answers a request for the page that charts tunnels, or for what it shows. */
async function showTunnels(path: string, send: Send, status: AdminSources['status']): Promise<void> {
  const report = tunnelReport(status());
  const resource = report && path !== 'report' ? await tunnelPageResource(path) : undefined;
  if (!report) send(404, 'text/plain', '404 Not Found: this node has no tunnels\n');
  else if (path === 'report') send(200, 'application/json', `${JSON.stringify(report)}\n`);
  else if (resource) send(200, '', resource.body, resource.headers);
  else send(404, 'text/plain', '404 Not Found\n');
}

/** Answers a request for one of the readable resources. */
async function show(path: string | undefined, send: Send, sources: AdminSources): Promise<void> {
  const { registry, status, refresh } = sources;
  if (path?.startsWith('/tunnels/')) {
    await refresh();
    return showTunnels(path.slice('/tunnels/'.length), send, status);
  }
  switch (path) {
    case '/healthz': {
      // The process is alive when it answers.
      send(200, 'text/plain', 'ok\n');
      return;
    }
    case '/readyz':
    case '/acceptz': {
      const { state } = status();
      send(statesOf[path].has(state) ? 200 : 503, 'text/plain', `${state}\n`);
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
      send(
        404,
        'text/plain',
        '404 Not Found: /healthz, /readyz, /acceptz, /metrics and /status are here, and /tunnels/ where there are any\n',
      );
      return;
    }
  }
}

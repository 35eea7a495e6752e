import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type BackendAction = 'kill' | 'drain' | 'resume' | 'start';

export interface ControlledSite {
  /** Returns what pages learn about the backends. */
  backends(): object[];
  /** Performs the action. Resolves with false when no backend has the name, and rejects when the action fails. */
  act(name: string, action: BackendAction): Promise<boolean>;
}

/** Header that pages of other origins cannot send without a preflight request (CORS), which this server refuses */
const demoHeader = 'sheaf-demo';

/**
 * Lets the demo's own page stop and start backends. It listens on loopback, refuses requests under another host name
 * (DNS rebinding), and ignores pages of other origins.
 */
export class BackendControl {
  readonly #server: Server;
  readonly #site: ControlledSite;
  /** Host and port of the demo's page, `host:port` */
  #hosts: ReadonlySet<string> = new Set();

  constructor(site: ControlledSite) {
    this.#site = site;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) =>
        send(response, 500, error instanceof Error ? error.message : String(error)),
      );
    });
  }

  /** Starts to listen. Resolves with the origin. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets the hosts and ports of the page. All requests before this are refused. */
  serve(hosts: readonly string[]): void {
    this.#hosts = new Set(hosts);
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url, headers } = request;
    if (!this.#hosts.has(headers.host ?? '')) {
      send(response, 421, 'This is for the page of the demo alone.');
      return;
    }
    if (url === '/demo/backends' && method === 'GET') {
      send(response, 200, JSON.stringify({ backends: this.#site.backends() }), 'application/json');
      return;
    }
    const [, name, action] = /^\/demo\/backends\/([\w-]+)\/(kill|drain|resume|start)$/.exec(url ?? '') ?? [];
    if (name === undefined) {
      send(response, 404, 'There is nothing here.');
      return;
    }
    if (method !== 'POST') {
      send(response, 405, 'Use POST.');
      return;
    }
    if (headers[demoHeader] === undefined || !this.#isOwnOrigin(headers.origin)) {
      send(response, 403, 'This is for the page of the demo alone.');
      return;
    }
    if (!(await this.#site.act(name, action as BackendAction))) {
      send(response, 404, `There is no backend ${name}.`);
      return;
    }
    send(response, 200, `${action}: done`);
  }

  /** Checks the origin, which browsers send with every POST. */
  #isOwnOrigin(origin: string | undefined): boolean {
    return origin !== undefined && URL.canParse(origin) && this.#hosts.has(new URL(origin).host);
  }
}

function send(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response
    .writeHead(status, {
      'content-type': type,
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    })
    .end(text);
}

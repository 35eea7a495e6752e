import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Header that pages of other origins cannot send without a preflight request (CORS), which this server refuses */
const demoHeader = 'sheaf-demo';

export interface ControlResponse {
  status: number;
  text: string;
  type?: string;
}

/** What pages may ask for */
export interface ControlledDemo {
  /** Returns what is at a path; undefined when there is nothing. */
  read(path: string): Promise<object> | undefined;
  /** Performs what POST to a path asks for; undefined when there is nothing. Rejects when it fails. */
  act(path: string): Promise<ControlResponse> | undefined;
}

/**
 * Lets the demo's own pages see and change what runs. It listens on loopback, refuses requests under another host name
 * (DNS rebinding), and ignores pages of other origins.
 */
export class PageControl {
  readonly #server: Server;
  readonly #demo: ControlledDemo;
  /** Host and port of the demo's pages, `host:port` */
  #hosts: ReadonlySet<string> = new Set();

  constructor(demo: ControlledDemo) {
    this.#demo = demo;
    this.#server = createServer((request, response) => {
      this.#answer(request).then(
        (content) => send(response, content),
        (error: unknown) =>
          send(response, { status: 500, text: error instanceof Error ? error.message : String(error) }),
      );
    });
  }

  /** Starts to listen. Resolves with the origin. */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets the ports of the pages. All requests before this are refused. */
  serve(ports: readonly number[]): void {
    this.#hosts = new Set(ports.flatMap(hostsOf));
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer({ method, url = '', headers }: IncomingMessage): Promise<ControlResponse> {
    if (!this.#hosts.has(headers.host ?? '')) return { status: 421, text: 'This is for the page of the demo alone.' };
    const found = method === 'GET' ? await this.#demo.read(url) : undefined;
    if (found) return { status: 200, text: JSON.stringify(found), type: 'application/json' };
    if (method !== 'POST') return { status: method === 'GET' ? 404 : 405, text: 'There is nothing here.' };
    if (headers[demoHeader] === undefined || !this.#isOwnOrigin(headers.origin))
      return { status: 403, text: 'This is for the page of the demo alone.' };
    return (await this.#demo.act(url)) ?? { status: 404, text: 'There is nothing here.' };
  }

  /** Checks the origin, which browsers send with every POST. */
  #isOwnOrigin(origin: string | undefined): boolean {
    return origin !== undefined && URL.canParse(origin) && this.#hosts.has(new URL(origin).host);
  }
}

/** Returns the host names of a page on this machine, as URLs of browsers have them: without the port that a scheme implies. */
function hostsOf(port: number): string[] {
  return ['http', 'https'].flatMap((scheme) =>
    ['localhost', '127.0.0.1'].map((name) => new URL(`${scheme}://${name}:${port}`).host),
  );
}

function send(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8' }: ControlResponse): void {
  response
    .writeHead(status, {
      'content-type': type,
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    })
    .end(text);
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server behind the gateway was asked. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly cookie: string | undefined;
}

/** A site with a log-in whose cookie no script sees, and a part behind HTTP authentication. */
export class LoginSite {
  readonly asked: Asked[] = [];
  private readonly server: Server = createServer((request, response) => this.answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = request;
    const path = new URL(url, 'http://site').pathname;
    this.asked.push({ method, path, cookie: headers.cookie });
    request.resume();
    const name = /(?:^|; )visitor=(\w+)/.exec(headers.cookie ?? '')?.[1];
    const goHome = (cookie: string): void => {
      response.writeHead(303, { location: '/', 'set-cookie': `${cookie}; HttpOnly; SameSite=Strict; Path=/` }).end();
    };
    if (path === '/login' && method === 'POST') return goHome('visitor=Ada');
    if (path === '/logout' && method === 'POST') return goHome('visitor=; Max-Age=0');
    if (path === '/basic') return this.answerBasic(headers.authorization, response);
    const form =
      name === undefined
        ? '<form action="/login" method="post"><button>Log in</button></form>'
        : '<form action="/logout" method="post"><button>Log out</button></form>';
    response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store' });
    response.end(`<!doctype html><title>Site</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/static/site.css">
<h1>${name === undefined ? 'Nobody' : `Hello, ${name}`}</h1>${form}<script src="/static/site.js"></script>`);
  }

  private answerBasic(authorization: string | undefined, response: ServerResponse): void {
    const expected = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
    if (authorization === expected) response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Inside</h1>');
    else
      response
        .writeHead(401, { 'www-authenticate': 'Basic realm="site"', 'content-type': 'text/html' })
        .end('<h1>Outside</h1>');
  }
}

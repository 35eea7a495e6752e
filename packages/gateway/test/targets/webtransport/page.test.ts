import {
  ERROR_CODES,
  decodeResponseHead,
  encodeRequestHead,
  readHead,
  type BidirectionalStream,
  type Credentials,
} from '@sheaf/web-client/protocol';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import type { GatewayRequest, GatewayResponse, Target } from '../../../src/http/exchange.js';
import { RequestHandler } from '../../../src/http/request_handler.js';
import { respondText } from '../../../src/http/respond.js';
import { compileRoute } from '../../../src/http/router.js';
import { isOwnAuthority, pageApplication } from '../../../src/targets/webtransport/page.js';
import type { WebTransportSession } from '../../../src/targets/webtransport/session.js';

describe('the host of a page request', () => {
  it.each([
    ['https://a.example/x', 'a.example', 'https://a.example', true],
    ['https://a.example/x', 'a.example:443', 'https://a.example', true],
    ['https://a.example:8443/x', 'a.example:4433', 'https://a.example:8443', true],
    ['http://localhost:8080/x', '127.0.0.1:4433', 'http://localhost:8080', true],
    ['https://b.example/x', 'a.example', 'https://a.example', false],
    ['https://a.example:4433/x', 'a.example', 'https://a.example', false],
    ['https://a.example.evil.example/', 'a.example', 'https://a.example', false],
    ['http://a.example/', 'a.example', 'https://a.example', false],
    ['https://a.example/', '', undefined, false],
  ])('%s on a session to %s from %s: %s', (url, authority, origin, expected) => {
    expect(isOwnAuthority(url, { authority, origin })).toBe(expected);
  });
});

/** Sends one request on a session to a.example; returns the status and what the gateway was asked for. */
async function request(url: string) {
  const asked: string[] = [];
  const handle = vi.fn((gatewayRequest: GatewayRequest, response: GatewayResponse) => {
    asked.push(gatewayRequest.authority);
    response.end('internal');
  });
  const { head } = await ask({ handle } as unknown as RequestHandler, url, 'omitted');
  return { status: head.status, asked };
}

/** The head of what `handler` answers on a session to a.example. */
async function ask(handler: RequestHandler, url: string, credentials: Credentials) {
  const [up, down] = [new TransformStream<Uint8Array, Uint8Array>(), new TransformStream<Uint8Array, Uint8Array>()];
  const session = {
    closed: new Promise(() => undefined),
    incomingBidirectionalStreams: new ReadableStream<BidirectionalStream>({
      start: (controller) => controller.enqueue({ readable: up.readable, writable: down.writable }),
    }),
    datagrams: { readable: new ReadableStream() },
    close: () => undefined,
  } as unknown as WebTransportSession;
  void pageApplication(handler)(session, {
    url: '/',
    authority: 'a.example',
    origin: 'https://a.example',
    remoteAddress: '192.0.2.1',
    forwarded: false,
    log: pino({ level: 'silent' }),
  });
  const writer = up.writable.getWriter();
  await writer.write(
    encodeRequestHead({
      method: 'GET',
      url,
      destination: '',
      priority: { urgency: 3, incremental: false },
      credentials,
      headers: [],
    }),
  );
  // The gateway may respond without wanting to read to the end.
  writer.close().catch(() => undefined);
  return readHead(down.readable.getReader(), decodeResponseHead);
}

/** A handler whose only route responds in this way. */
function handlerOf(target: Target): RequestHandler {
  return new RequestHandler({
    routes: [compileRoute({ path: '/' }, 0, target)],
    wellKnown: target,
    wellKnownPrefix: '/.well-known/sheaf/',
    maxHeaderBytes: 65_536,
    observer: { requestStarted: () => undefined, requestEnded: () => undefined },
    log: pino({ level: 'silent' }),
    timingName: 'sheaf-gateway',
  });
}

describe('a page session', () => {
  it('answers for the host it was opened for', async () => {
    expect(await request('https://a.example/')).toEqual({ status: 200, asked: ['a.example'] });
  });

  it('answers for no other host of the gateway', async () => {
    expect(await request('https://internal.example/')).toEqual({ status: 421, asked: [] });
  });
});

describe('cookies and log-ins, which a page session does not carry', () => {
  const url = 'https://a.example/';
  const needsCredentials = { streamErrorCode: ERROR_CODES.needs_credentials };
  const responding = (status: number, headers: Record<string, string | string[]>): Target => ({
    handle: async (exchange) => respondText(exchange, status, 'hello', headers),
  });

  it('a request without those that the browser has reaches only routes that ignore them', async () => {
    const target = responding(200, {});
    await expect(ask(handlerOf(target), url, 'withheld')).rejects.toMatchObject(needsCredentials);
    expect((await ask(handlerOf({ ...target, ignoresCredentials: true }), url, 'withheld')).head.status).toBe(200);
    expect((await ask(handlerOf(target), url, 'none')).head.status).toBe(200);
  });

  it.each([
    ['sets cookies', 200, { 'set-cookie': ['a=b; HttpOnly'] }],
    ['asks for a log-in', 401, { 'www-authenticate': 'Basic realm="a"' }],
    ['clears storage', 200, { 'clear-site-data': '"cookies"' }],
  ])('a response that %s is left to the browser', async (_name, status, headers) => {
    await expect(ask(handlerOf(responding(status, headers)), url, 'none')).rejects.toMatchObject(needsCredentials);
    expect((await ask(handlerOf(responding(status, headers)), url, 'omitted')).head.status).toBe(status);
  });

  it('a worker is told that the browser was given cookies', async () => {
    const { head } = await ask(handlerOf(responding(200, { 'set-cookie': ['a=b'] })), url, 'omitted');
    expect(Object.fromEntries(head.headers)).toMatchObject({ 'sheaf-credentials': 'set' });
  });
});

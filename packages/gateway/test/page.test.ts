import { decodeResponseHead, encodeRequestHead, readHead, type BidirectionalStream } from '@sheaf/web-client/protocol';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import type { GatewayRequest, GatewayResponse } from '../src/http/exchange.js';
import type { RequestHandler } from '../src/http/request_handler.js';
import { isOwnAuthority, pageApplication } from '../src/webtransport/page.js';
import type { WebTransportSession } from '../src/webtransport/session.js';

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
  const handler = {
    handle: vi.fn((gatewayRequest: GatewayRequest, response: GatewayResponse) => {
      asked.push(gatewayRequest.authority);
      response.end('internal');
    }),
  } as unknown as RequestHandler;
  const [up, down] = [new TransformStream<Uint8Array, Uint8Array>(), new TransformStream<Uint8Array, Uint8Array>()];
  const session = {
    closed: new Promise(() => undefined),
    incomingBidirectionalStreams: new ReadableStream<BidirectionalStream>({ start: (controller) => controller.enqueue({ readable: up.readable, writable: down.writable }) }),
    datagrams: { readable: new ReadableStream() },
    close: () => undefined,
  } as unknown as WebTransportSession;
  void pageApplication(handler)(session, { url: '/', authority: 'a.example', origin: 'https://a.example', remoteAddress: '192.0.2.1', log: pino({ level: 'silent' }) });
  const writer = up.writable.getWriter();
  await writer.write(encodeRequestHead({ method: 'GET', url, destination: '', priority: { urgency: 3, incremental: false }, headers: [] }));
  await writer.close();
  const { head } = await readHead(down.readable.getReader(), decodeResponseHead);
  return { status: head.status, asked };
}

describe('a page session', () => {
  it('answers for the host it was opened for', async () => {
    expect(await request('https://a.example/')).toEqual({ status: 200, asked: ['a.example'] });
  });

  it('answers for no other host of the gateway', async () => {
    expect(await request('https://internal.example/')).toEqual({ status: 421, asked: [] });
  });
});

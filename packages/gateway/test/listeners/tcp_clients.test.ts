import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { GatewayResponse } from '../../src/http/exchange.js';
import { TcpClients } from '../../src/listeners/tcp_clients.js';

const address = '192.0.2.1';

/** What a response over HTTP/1.1 of a client at `address` is read by. */
function roomOf(clients: TcpClients): number {
  const response = new EventEmitter() as unknown as GatewayResponse;
  const request = { httpVersionMajor: 1, socket: new EventEmitter(), headers: {} } as unknown as IncomingMessage;
  clients.begin(request, address, response, () => undefined);
  return response.room!() as number;
}

it('responses over HTTP/1.1 are read in small pieces while their network has many connections', () => {
  const clients = new TcpClients(1_000, 128);
  const sockets = Array.from({ length: 65 }, () => new EventEmitter());
  for (const socket of sockets.slice(1)) expect(clients.admit(socket as Socket, address)).toBe(true);
  expect(roomOf(clients)).toBe(64 * 1024);
  clients.admit(sockets[0] as Socket, address);
  expect(roomOf(clients)).toBe(16 * 1024);
  // Those of other networks do not count.
  clients.admit(new EventEmitter() as Socket, '198.51.100.1');
  sockets[0]!.emit('close');
  expect(roomOf(clients)).toBe(64 * 1024);
});

/** A client of HTTP/2 at `address`. */
function sessionOf(clients: TcpClients): { ask(fields: string): boolean } {
  clients.admit(new EventEmitter() as Socket, address);
  const session = Object.assign(new EventEmitter(), { settings: () => undefined }) as unknown as ServerHttp2Session;
  clients.open(session, address);
  const ask = (fields: string): boolean => {
    let answered = false;
    const request = { httpVersionMajor: 2, headers: { fields }, stream: { session, close: () => undefined } };
    clients.begin(
      request as unknown as Http2ServerRequest,
      address,
      new EventEmitter() as unknown as GatewayResponse,
      () => (answered = true),
    );
    return answered;
  };
  return { ask };
}

it('a request over HTTP/2 with large fields counts for several', () => {
  const clients = new TcpClients(1_000, 128);
  const large = 'x'.repeat(30_000);
  for (let i = 0; i < 10; i++) {
    const { ask } = sessionOf(clients);
    for (let requests = 0; requests < 13; requests++) expect(ask('')).toBe(true);
  }
  // 130 small ones are far from the bound, as many large ones are there.
  expect(clients.streamsFor(address)).toBe(128);
  for (let i = 0; i < 10; i++) {
    const { ask } = sessionOf(clients);
    for (let requests = 0; requests < 11; requests++) expect(ask(large)).toBe(true);
  }
  const last = sessionOf(clients);
  for (let requests = 0; requests < 13 && clients.streamsFor(address) === 128; requests++)
    expect(last.ask(large)).toBe(true);
  expect(clients.streamsFor(address)).toBe(8);
  const { ask } = sessionOf(clients);
  expect([ask(large), ask(large), ask(''), ask('')]).toEqual([true, false, false, false]);
  const polite = sessionOf(clients);
  expect(Array.from({ length: 10 }, () => polite.ask(''))).toEqual([...Array<boolean>(8).fill(true), false, false]);
  expect(clients.hits).toMatchObject({ tcp_network_requests: 5 });
});

import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { GatewayResponse } from '../../src/http/exchange.js';
import { TcpClients } from '../../src/listeners/tcp_clients.js';
import { OwnCounts } from '../../src/values/counts.js';

const address = '192.0.2.1';
const limits = { connections: 10_000, connections_per_network: 1_000 };

/** What a response over HTTP/1.1 of a client at `address` is read by. */
function roomOf(clients: TcpClients): number {
  const response = new EventEmitter() as unknown as GatewayResponse;
  const request = { httpVersionMajor: 1, socket: new EventEmitter(), headers: {} } as unknown as IncomingMessage;
  clients.begin(request, address, response, () => undefined);
  return response.room!() as number;
}

it('responses over HTTP/1.1 are read in small pieces while their network has many connections', () => {
  const clients = new TcpClients(limits, 128);
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

/** A client of HTTP/2 at `address`. It knows only the credit that it acknowledged. */
function sessionOf(clients: TcpClients) {
  clients.admit(new EventEmitter() as Socket, address);
  const told: number[] = [];
  const session = Object.assign(new EventEmitter(), {
    localSettings: { maxConcurrentStreams: clients.streamsFor(address) },
    settings: ({ maxConcurrentStreams }: { maxConcurrentStreams: number }) => told.push(maxConcurrentStreams),
  });
  clients.open(session as unknown as ServerHttp2Session, address);
  const responses: EventEmitter[] = [];
  const ask = (fields: string): boolean => {
    const response = new EventEmitter();
    let answered = false;
    const request = { httpVersionMajor: 2, headers: { fields }, stream: { session, close: () => undefined } };
    clients.begin(
      request as unknown as Http2ServerRequest,
      address,
      response as unknown as GatewayResponse,
      () => (answered = true),
    );
    if (answered) responses.push(response);
    return answered;
  };
  return {
    ask,
    told,
    acknowledge: () => (session.localSettings.maxConcurrentStreams = told.at(-1)!),
    /** Ends the responses that are left. */
    end: (count = Infinity) => responses.splice(0, count).forEach((response) => response.emit('close')),
  };
}

const large = 'x'.repeat(30_000);

/** Clients whose requests are as many as the network may have. */
function shortage(clients: TcpClients): ReturnType<typeof sessionOf>[] {
  const sessions = Array.from({ length: 8 }, () => sessionOf(clients));
  for (const { ask } of sessions) for (let requests = 0; requests < 125; requests++) expect(ask('')).toBe(true);
  expect(sessions.map(({ told }) => told)).toEqual(Array(8).fill([8]));
  return sessions;
}

it('a request over HTTP/2 with large fields counts for several', () => {
  const clients = new TcpClients(limits, 128);
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

it('a client that is refused although it keeps to its credit gets credit for what it has', () => {
  const clients = new TcpClients(limits, 128);
  shortage(clients);
  const { ask, told, acknowledge } = sessionOf(clients);
  expect([ask(large), ask(large)]).toEqual([true, false]);
  expect(told).toEqual([1]);
  // It is not told again what it was told.
  expect([ask(large), told]).toEqual([false, [1]]);
  acknowledge();
  expect([ask(large), told]).toEqual([false, [1]]);
});

it('a client that got no more streams than it has gets one more for each place that becomes free', () => {
  const clients = new TcpClients(limits, 128);
  const [first] = shortage(clients);
  const { ask, told, acknowledge } = sessionOf(clients);
  expect([ask(large), ask(large)]).toEqual([true, false]);
  expect(told).toEqual([1]);
  acknowledge();
  // Its own response stays open; another client's ends.
  first!.end(10);
  expect(told.at(-1)).toBe(2);
  acknowledge();
  expect(ask('')).toBe(true);
  first!.end(1);
  expect(told.at(-1)).toBe(3);
});

it('what a client sent before it knew of the shortage does not cost it the few that it may have', () => {
  const clients = new TcpClients(limits, 128);
  const [first] = shortage(clients);
  expect([first!.ask(''), first!.told]).toEqual([false, [8]]);
  first!.acknowledge();
  expect([first!.ask(''), first!.told]).toEqual([false, [8]]);
});

it('after a shortage clients share what their network may have, until nothing is left of it', () => {
  const clients = new TcpClients(limits, 128);
  const sessions = shortage(clients);
  const others = Array.from({ length: 12 }, () => sessionOf(clients));
  expect(clients.streamsFor(address)).toBe(8);
  for (const { end } of sessions.slice(0, 4)) end();
  expect(others.map(({ told }) => told)).toEqual(Array(12).fill([50]));
  expect(clients.streamsFor(address)).toBe(50);
  for (const { end } of sessions.slice(4, 7)) end();
  expect(others.map(({ told }) => told)).toEqual(Array(12).fill([50, 128]));
  expect(clients.streamsFor(address)).toBe(128);
});

it('listeners that count together have one limit, of all clients and of each network', () => {
  const counts = new OwnCounts();
  const listeners = [0, 1].map(
    () => new TcpClients({ connections: 5, connections_per_network: 3 }, 128, { counts, workers: 2 }),
  ) as [TcpClients, TcpClients];
  const admit = (listener: TcpClients, client: string): Socket | undefined => {
    const socket = Object.assign(new EventEmitter(), { destroy: () => undefined }) as unknown as Socket;
    return listener.admit(socket, client) ? socket : undefined;
  };
  const own = Array.from({ length: 4 }, () => admit(listeners[0], address));
  expect(own.map((socket) => socket !== undefined)).toEqual([true, true, true, false]);
  expect(admit(listeners[1], address)).toBeUndefined();
  expect(listeners.map(({ hits }) => hits['tcp_network_connections'])).toEqual([1, 1]);
  for (const last of [2, 3]) expect(admit(listeners[1], `198.51.100.${last}`)).toBeDefined();
  expect(admit(listeners[0], '203.0.113.1')).toBeUndefined();
  expect(listeners.map(({ hits }) => hits['tcp_connections'])).toEqual([1, 0]);
  own[0]!.emit('close');
  expect(admit(listeners[1], address)).toBeDefined();
});

import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
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

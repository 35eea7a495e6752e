import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Crowds, type ClientsTurn } from '../../src/listeners/crowds.js';

const network = '192.0.2.1';
/** Connections that a share of 1,000 lets in at once. */
const atOnce = 100;
/** Then so many, and as many again every 250 ms. */
const aFew = 7;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

class Connection extends EventEmitter {
  bytesRead = 1;
  bytesWritten = 0;
  destroyed = false;
  turn: ClientsTurn = 'exchange';
  begun = false;

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    queueMicrotask(() => this.emit('close'));
  }
}

function crowded(share = 1_000) {
  const crowds = new Crowds(share, (socket) => (socket as unknown as Connection).turn);
  const connect = (of = network, version: 'http/1.1' | 'h2' = 'http/1.1'): Connection => {
    const connection = new Connection();
    const socket = connection as unknown as Socket;
    crowds.admit(socket, of, () => {
      connection.begun = true;
      if (version === 'h2') crowds.leave(socket, of);
      else crowds.add(socket, of);
    });
    return connection;
  };
  return { crowds, connect, many: (count: number) => Array.from({ length: count }, () => connect()) };
}

const begun = (connections: Connection[]): number => connections.filter((connection) => connection.begun).length;
const open = (connections: Connection[]): number =>
  connections.filter((connection) => connection.begun && !connection.destroyed).length;

it('beyond a tenth of the share connections come in one by one, and those that do nothing give way', async () => {
  const { crowds, many } = crowded();
  const connections = many(900);
  expect(begun(connections)).toBe(atOnce + aFew);
  await vi.advanceTimersByTimeAsync(2_000);
  // Nobody has been quiet for long enough yet.
  expect(crowds.hits).toBe(0);
  const before = begun(connections);
  expect(before).toBeLessThan(atOnce + 75);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(begun(connections)).toBeGreaterThan(before + 100);
  expect(open(connections)).toBeLessThan(atOnce + 75);
  expect(crowds.hits).toBe(connections.filter(({ begun, destroyed }) => begun && destroyed).length);
  // Connections that waited too long are closed.
  await vi.advanceTimersByTimeAsync(10_000);
  expect(connections.filter((connection) => !connection.begun && !connection.destroyed)).toEqual([]);
});

it('connections that get on, or that wait for the gateway, stay', async () => {
  const { crowds, many } = crowded();
  const moving = many(60);
  const answered = many(atOnce - 60);
  for (const connection of answered) connection.turn = undefined;
  const timer = setInterval(() => moving.forEach((connection) => (connection.bytesRead += 1)), 200);
  const late = many(50);
  await vi.advanceTimersByTimeAsync(5_000);
  clearInterval(timer);
  expect(open([...moving, ...answered])).toBe(atOnce);
  // They come in nevertheless, only not all at once; those of them that do nothing give way to others.
  expect(begun(late)).toBe(50);
  expect(crowds.hits).toBeLessThan(50);
});

it('who leaves an exchange gives way before who keeps a connection for later', async () => {
  const { connect, many } = crowded();
  const [idle, ...others] = many(atOnce);
  idle!.turn = 'request';
  await vi.advanceTimersByTimeAsync(1_000);
  others[7]!.bytesRead += 1;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(connect().begun).toBe(true);
  await vi.advanceTimersByTimeAsync(100);
  expect(idle!.destroyed).toBe(false);
  expect(others.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  expect(others[7]!.destroyed).toBe(false);
});

it('the newest and the oldest have their turns', async () => {
  const { many } = crowded();
  many(atOnce + aFew);
  const late = many(10);
  await vi.advanceTimersByTimeAsync(250);
  expect(late.flatMap((connection, index) => (connection.begun ? [index] : []))).toEqual([0, 1, 2, 7, 8, 9]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(begun(late)).toBe(10);
});

it('who waits gets its turn while new ones keep coming', async () => {
  const { connect, many } = crowded();
  many(atOnce + aFew);
  const other = connect();
  const timer = setInterval(connect, 1_000 / 30);
  await vi.advanceTimersByTimeAsync(500);
  clearInterval(timer);
  expect(other.begun).toBe(true);
});

it('connections that wait are closed when the gateway stops', () => {
  const { crowds, many } = crowded();
  const connections = many(atOnce + 100);
  crowds.close();
  expect(connections.filter(({ begun: one, destroyed }) => one === destroyed)).toEqual([]);
});

it('other networks, small shares and connections of HTTP/2 are no crowd', () => {
  const { connect, many } = crowded();
  for (let i = 0; i < 500; i++) expect(connect(network, 'h2').begun).toBe(true);
  expect(begun(many(atOnce))).toBe(atOnce);
  many(10);
  expect(connect('198.51.100.1').begun).toBe(true);
  expect(begun(crowded(5).many(64))).toBe(64);
});

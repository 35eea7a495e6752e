import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { LinkRelayStats } from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { run } from '../src/run.js';
import { sheaf, temporaryDirectory, testWorld } from './support/world.js';

/** A socket that remembers what it got. */
async function peer(): Promise<{
  socket: Socket;
  port: number;
  received: number[];
  from: AddressInfo[];
  lastAt(): number;
}> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const [received, from]: [number[], AddressInfo[]] = [[], []];
  let lastAt = 0;
  socket.on('message', (message, remote) => {
    received.push(message.readUInt32BE());
    lastAt = performance.now();
    from.push(remote);
  });
  return { socket, port: socket.address().port, received, from, lastAt: () => lastAt };
}

function numbered(number: number, size = 200): Buffer {
  const message = Buffer.alloc(size);
  message.writeUInt32BE(number);
  return message;
}

/** A running `sheaf link --json` to a target of its own, and a client. */
async function startLink(...args: string[]) {
  const [client, target] = [await peer(), await peer()];
  const world = await testWorld(['link', '--target', `127.0.0.1:${target.port}`, '--json', ...args]);
  const code = run(world);
  await vi.waitFor(() => expect(world.out() + world.err()).not.toBe(''), 30_000);
  const port = Number((JSON.parse(world.out()) as { listen: string }).listen.split(':')[1]);
  const send = (number: number, size?: number): void => client.socket.send(numbered(number, size), port, '127.0.0.1');
  const end = async (): Promise<LinkRelayStats> => {
    world.signal('SIGINT');
    expect(await code).toBe(0);
    return JSON.parse(world.out().trim().split('\n')[1] ?? '') as LinkRelayStats;
  };
  return { client, target, world, send, end };
}

describe('sheaf link', () => {
  it('carries datagrams both ways and reports', async () => {
    const { client, target, send, end } = await startLink('--delay', '2ms');
    send(7);
    await vi.waitFor(() => expect(target.received).toEqual([7]), 30_000);
    target.socket.send(numbered(8), target.from[0]?.port ?? 0, '127.0.0.1');
    await vi.waitFor(() => expect(client.received).toEqual([8]), 30_000);
    expect(await end()).toMatchObject({
      there: { sent: 1, delivered: 1, bytesDelivered: 200 },
      back: { sent: 1, delivered: 1 },
      clients: 1,
      unsent: 0,
    });
  });

  it('has one configuration for each direction', async () => {
    const { client, target, send, end } = await startLink('--loss', '0', '--loss', '100%');
    send(1);
    await vi.waitFor(() => expect(target.received).toEqual([1]), 30_000);
    await new Promise((resolve) => target.socket.send(numbered(2), target.from[0]?.port ?? 0, '127.0.0.1', resolve));
    // The link reads its sockets together: it has taken what was sent before this one comes out of it.
    send(3);
    await vi.waitFor(() => expect(target.received).toEqual([1, 3]), 30_000);
    expect(client.received).toEqual([]);
    expect(await end()).toMatchObject({ there: { sent: 2, lost: 0 }, back: { sent: 1, lost: 1 } });
  });

  it('keeps its rate and the order', async () => {
    const { target, send, end } = await startLink('--rate', '10mbit', '--queue', '500p');
    const started = performance.now();
    // No more than the receive buffer of the link's socket holds when nobody reads for a while.
    for (let i = 0; i < 60; i += 1) send(i, 1_250);
    await vi.waitFor(() => expect(target.received).toHaveLength(60), 30_000);
    const ms = target.lastAt() - started;
    console.log(`rate: ${((60 * 1_250 * 8) / ms / 1_000).toFixed(2)} of 10 Mbit/s`);
    expect(target.received).toEqual([...target.received].sort((a, b) => a - b));
    expect(ms).toBeGreaterThan(59);
    expect((await end()).there.queueFull).toBe(0);
  });

  it('follows a capacity trace', async () => {
    const directory = await temporaryDirectory();
    const file = join(directory, 'link.trace');
    await writeFile(file, '5\n10\n10\n');
    const { target, send, end } = await startLink('--trace', file);
    const started = performance.now();
    for (let i = 0; i < 60; i += 1) send(i, 1_500);
    await vi.waitFor(() => expect(target.received).toHaveLength(60), 30_000);
    // 20 rounds of 10 ms, the first of which may have begun.
    expect(performance.now() - started).toBeGreaterThan(185);
    await end();
  });

  it('goes down and comes back at the given times', async () => {
    const { target, world, send, end } = await startLink('--down-at', '1ms', '--up-at', '300ms');
    await vi.waitFor(() => expect(world.err()).toContain('down'), 30_000);
    let number = 0;
    await vi.waitFor(() => {
      send((number += 1));
      expect(target.received.length).toBeGreaterThan(0);
    }, 30_000);
    expect(world.err()).toContain('0.3 s: up');
    expect((await end()).there.delivered).toBeGreaterThan(0);
  });

  it('prints a table for people', async () => {
    const world = await testWorld(['link', '--target', '127.0.0.1:9']);
    const code = run(world);
    await vi.waitFor(() => expect(world.out()).toMatch(/link ready: 127\.0\.0\.1:\d+ to 127\.0\.0\.1:9/), 30_000);
    world.signal('SIGTERM');
    expect(await code).toBe(0);
    expect(world.out()).toMatch(/there +0/);
  });

  it('says which port is taken', async () => {
    const { port } = await peer();
    const { code, err } = await sheaf(['link', '--listen', `127.0.0.1:${port}`, '--target', '127.0.0.1:9']);
    expect(code).toBe(3);
    expect(err).toContain(`error[PORT_TAKEN]: UDP 127.0.0.1:${port}`);
  });

  it.each([
    [[], 'missing required argument: target'],
    [['--target', 'example'], '`example` is not an address with a port'],
    [['--target', ':4433'], '--target :4433 is nowhere'],
    [['--target', '127.0.0.1:9', '--rate', '20'], 'write a number with bit, kbit, mbit, gbit, such as --rate 20mbit'],
    [['--target', '127.0.0.1:9', '--rate', '0mbit'], 'less than a byte per second'],
    [['--target', '127.0.0.1:9', '--rate', '1mbit', '--trace', 'x'], '--rate and --trace exclude each other'],
    [['--target', '127.0.0.1:9', '--trace', 'none'], '--trace none cannot be read (ENOENT)'],
    [['--target', '127.0.0.1:9', '--delay', '20'], '--delay 20 is not a duration'],
    [['--target', '127.0.0.1:9', '--loss', '120%'], '--loss 120% is more than everything'],
    [['--target', '127.0.0.1:9', '--loss', '1%', '--loss', '2%', '--loss', '3%'], '--loss is given 3 times'],
    [['--target', '127.0.0.1:9', '--burst-loss', '2%'], 'such as --burst-loss 2%,10'],
    [['--target', '127.0.0.1:9', '--burst-loss', '2%,0.5'], 'a number from 1'],
    [['--target', '127.0.0.1:9', '--reorder', '2%,x'], '--reorder x is not a duration'],
    [['--target', '127.0.0.1:9', '--queue', '50'], 'such as --queue 64KiB or 50p'],
    [['--target', '127.0.0.1:9', '--queue-discipline', 'red'], 'invalid values'],
    [['--target', '127.0.0.1:9', '--up-at', '5s'], '--up-at comes before the link is down'],
    [['--target', '127.0.0.1:9', '--seed', '1.5'], '--seed takes a whole number'],
  ])('refuses %j', async (args, message) => {
    const { code, out, err } = await sheaf(['link', ...args]);
    expect(err).toContain(message);
    expect([code, out]).toEqual([2, '']);
  });

  it('names the line of a faulty trace', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'bad.trace'), '1\n2\nx\n');
    const { code, err } = await sheaf(['link', '--target', '127.0.0.1:9', '--trace', 'bad.trace'], directory);
    expect(code).toBe(2);
    expect(err).toContain('--trace: line 3: a whole number of milliseconds is expected');
  });
});

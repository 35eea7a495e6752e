import { once } from 'node:events';
import { connect as connectHttp2, createServer } from 'node:http2';
import { connect, type AddressInfo } from 'node:net';
import type { StreamPriority } from '@sheaf/web-client/protocol';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Http2Tree, NodeNumbers } from '../../src/listeners/http2_tree.js';
import { frame } from '../support/http2_frames.js';

/** A server that keeps what priority it sees, by stream. */
async function world() {
  const numbers = new NodeNumbers();
  const seen = new Map<number, StreamPriority | undefined>();
  const server = createServer();
  server.on('session', (session) => {
    const tree = new Http2Tree(session, numbers);
    session.on('error', () => undefined);
    session.on('stream', (stream, headers) => {
      seen.set(stream.id ?? 0, tree.priorityOf(stream, headers['priority'] as string | undefined));
      stream.on('error', () => undefined);
      stream.respond();
      stream.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => void server.close());
  return { numbers, seen, port };
}

interface Told {
  parent: number;
  exclusive?: boolean;
  weight: number;
}

/** RFC 9113 §6.3. */
function priorityFields({ parent, exclusive = false, weight }: Told): Buffer {
  const fields = Buffer.alloc(5);
  fields.writeUInt32BE((exclusive ? 0x8000_0000 : 0) + parent);
  fields.writeUInt8(weight - 1, 4);
  return fields;
}

const priority = (stream: number, told: Told): Buffer => frame(0x02, 0, stream, priorityFields(told));
/** GET http://a/ by HPACK's static table, with priority, the end of the headers and of the stream. */
const request = (stream: number, told: Told): Buffer =>
  frame(0x01, 0x25, stream, Buffer.concat([priorityFields(told), Buffer.from([0x82, 0x86, 0x84, 0x41, 0x01, 0x61])]));

/** Sends the frames at once, as a client does whose requests are made at one time. */
async function send(port: number, frames: Buffer[]): Promise<() => Promise<void>> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(0x04, 0, 0, Buffer.alloc(0)), ...frames]),
  );
  await once(socket, 'data');
  return async () => {
    socket.destroy();
    await once(socket, 'close');
  };
}

describe('what an HTTP/2 client says about order', () => {
  it('is nothing when it says nothing', async () => {
    const { seen, port, numbers } = await world();
    const client = connectHttp2(`http://127.0.0.1:${port}`);
    await once(client.request({ ':path': '/' }).resume(), 'close');
    expect([...seen.values()]).toEqual([undefined]);
    expect(numbers.used).toBe(0);
    client.destroy();
  });

  it('is a weight, and the urgency of the priority field', async () => {
    const { seen, port } = await world();
    const client = connectHttp2(`http://127.0.0.1:${port}`);
    await once(client.request({ ':path': '/', priority: 'u=1, i' }, { weight: 200 }).resume(), 'close');
    expect([...seen.values()]).toEqual([
      {
        urgency: 1,
        incremental: true,
        dependency: { node: expect.any(Number) as number, parent: 0, weight: 200, exclusive: false },
      },
    ]);
    client.destroy();
  });

  it('is a place below groups that have no stream', async () => {
    const { seen, port } = await world();
    const end = await send(port, [
      priority(7, { parent: 0, weight: 201 }),
      priority(11, { parent: 7, weight: 2 }),
      priority(15, { parent: 11, weight: 42 }),
      request(15, { parent: 11, weight: 42 }),
    ]);
    await vi.waitFor(() => expect(seen.size).toBe(1), 30_000);
    const { dependency, groups } = seen.get(15) ?? {};
    expect(dependency).toMatchObject({ weight: 42, exclusive: false, parent: groups?.[0]?.node });
    expect(groups).toMatchObject([
      { weight: 2, parent: groups?.[1]?.node },
      { weight: 201, parent: 0 },
    ]);
    await end();
  });

  it('keeps the exclusive flag', async () => {
    const { seen, port } = await world();
    const end = await send(port, [
      priority(5, { parent: 0, exclusive: true, weight: 9 }),
      request(5, { parent: 0, exclusive: true, weight: 9 }),
    ]);
    await vi.waitFor(
      () => expect(seen.get(5)?.dependency).toMatchObject({ parent: 0, weight: 9, exclusive: true }),
      30_000,
    );
    await end();
  });

  it('is cut off where it goes round in a circle', async () => {
    const { seen, port } = await world();
    const end = await send(port, [
      priority(7, { parent: 9, weight: 3 }),
      priority(9, { parent: 7, weight: 4 }),
      priority(13, { parent: 7, weight: 5 }),
      request(13, { parent: 7, weight: 5 }),
    ]);
    await vi.waitFor(() => expect(seen.size).toBe(1), 30_000);
    expect(seen.get(13)?.groups?.length).toBeLessThanOrEqual(2);
    await end();
  });
});

describe('the numbers of nodes', () => {
  it('are given back with the stream, and with the session', async () => {
    const { seen, port, numbers } = await world();
    const end = await send(port, [
      priority(7, { parent: 0, weight: 201 }),
      request(1, { parent: 0, weight: 2 }),
      request(3, { parent: 0, weight: 2 }),
    ]);
    await vi.waitFor(() => expect(seen.size).toBe(2), 30_000);
    expect(seen.get(1)?.dependency?.node).not.toBe(seen.get(3)?.dependency?.node);
    await vi.waitFor(() => expect(numbers.used).toBe(1), 30_000);
    await end();
    await vi.waitFor(() => expect(numbers.used).toBe(0), 30_000);
  });

  it('are not given without end to one client', async () => {
    const { port, numbers } = await world();
    // Not so many at one time that Node takes it for an attack.
    const frames = Array.from({ length: 3_000 }, (_, index) => priority(index * 2 + 7, { parent: 0, weight: 2 }));
    const end = await send(port, [...frames, request(1, { parent: 0, weight: 2 })]);
    expect(numbers.used).toBeLessThanOrEqual(1_024);
    await end();
    await vi.waitFor(() => expect(numbers.used).toBe(0), 30_000);
  });

  it('end', () => {
    const numbers = new NodeNumbers();
    const taken = new Set<number | undefined>();
    for (let number = numbers.take(); number !== undefined; number = numbers.take()) taken.add(number);
    expect(taken.size).toBe(65_536);
    numbers.giveBack(5);
    expect(numbers.take()).toEqual(expect.any(Number));
  });
});

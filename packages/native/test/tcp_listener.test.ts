import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { duplicateDescriptor, openSharedTcp } from '@sheaf/native';

const local = { address: '127.0.0.1', port: 0 };

function open(sockets: number, at = local): { descriptors: number[]; port: number } {
  const opened = openSharedTcp(at, sockets);
  onTestFinished(() => opened.descriptors.forEach((descriptor) => closeSync(descriptor)));
  return opened;
}

/** A server at a descriptor of its own of this socket, which counts its connections. */
function serve(descriptor: number): { server: Server; sockets: Socket[] } {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  server.listen({ fd: duplicateDescriptor(descriptor) });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, sockets };
}

async function connectTimes(port: number, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const socket = connect({ host: '127.0.0.1', port });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
  }
}

it('connections are divided among the sockets of a port', async () => {
  const { descriptors, port } = open(2);
  const servers = descriptors.map(serve);
  await connectTimes(port, 40);
  await expect.poll(() => servers.reduce((sum, { sockets }) => sum + sockets.length, 0)).toBe(40);
  for (const { sockets } of servers) expect(sockets.length).toBeGreaterThan(0);
});

it('connections wait for a server that comes later, and for its successor', async () => {
  const { descriptors, port } = open(1);
  await connectTimes(port, 3);
  const first = serve(descriptors[0]!);
  await expect.poll(() => first.sockets.length).toBe(3);
  first.server.close();
  await connectTimes(port, 2);
  const second = serve(descriptors[0]!);
  await expect.poll(() => second.sockets.length).toBe(2);
  expect(first.sockets).toHaveLength(3);
});

it('a port where somebody listens is refused, although it is shared', () => {
  const { port } = open(2);
  expect(() => openSharedTcp({ ...local, port }, 2)).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }) as Error);
  expect(() => openSharedTcp({ address: '192.0.2.1', port: 0 }, 1)).toThrow(
    expect.objectContaining({ code: 'EADDRNOTAVAIL' }) as Error,
  );
  expect(() => duplicateDescriptor(1_000_000)).toThrow('descriptor');
});

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { LoadedGateway } from '../../src/schema/loaded.js';
import { Gateway } from '../../src/nodes/gateway.js';
import { TunnelNode } from '../../src/nodes/tunnel/tunnel_node.js';
import { logTo, startNamed } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';

/** Routes of a gateway that leads to servers of the test */
export const tunnelRoutes = (who = 'clients: 127.0.0.0/8'): string[] => [
  'routes:',
  `  - connect: { allow: [127.0.0.1, "*"], ${who} }`,
  `  - { path: /.well-known/masque/udp/, connect_udp: { allow: 127.0.0.1, ${who} } }`,
];

export interface TunnelPair {
  gateway: Gateway;
  tunnel: TunnelNode;
  directory: string;
  log: Record<string, unknown>[];
  /** Returns the port of the listener of this kind, on 127.0.0.1. */
  portOf(kind: string): number;
  /** Ends the gateway, and starts it again at the same port. */
  restartGateway(): Promise<void>;
}

export interface TunnelPairOptions {
  tunnel: string[];
  gateway?: string[];
  gatewayPort?: number;
  /** How the node names its gateway; default: as a node of the same file */
  reach?: string;
  directory?: string;
}

/** A gateway with tunnels and a node that uses them, from one file, in this process; stop with the test. */
export async function startTunnelPair(options: TunnelPairOptions): Promise<TunnelPair> {
  const { gateway = tunnelRoutes(), gatewayPort = 0, reach = 'site', tunnel } = options;
  const directory = options.directory ?? (await temporaryDirectory());
  const { nodes, loaded, log } = await startNamed(directory, {
    laptop: ['role: tunnel', `gateway: ${reach}`, ...tunnel],
    site: ['role: gateway', `listen: 127.0.0.1:${gatewayPort}`, ...gateway],
  });
  const [first, second] = nodes;
  if (!(first instanceof TunnelNode) || !(second instanceof Gateway))
    throw new Error('the nodes are not in the order of the file');
  return {
    tunnel: first,
    gateway: second,
    directory,
    log,
    portOf: (kind) => {
      const found = first.status().listeners.find((listener) => listener.kind === kind);
      return Number(found?.listen.split(':').at(-1));
    },
    restartGateway: async () => {
      const { port } = second.address;
      await second.close(0);
      const again = loaded.nodes.find((node): node is LoadedGateway => node.role === 'gateway')!;
      again.node.listen.port = port;
      const running = await Gateway.start(again, { logStream: logTo(log) });
      onTestFinished(() => running.close(0));
    },
  };
}

/** Connects to a port of this machine; closes with the test. */
export async function connectTo(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Reads so many bytes; what follows stays in the socket. */
export async function readBytes(socket: Socket, count: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  while (bytes.length < count) {
    const more = socket.read() as Buffer | null;
    if (more) bytes = Buffer.concat([bytes, more]);
    else if (socket.readableEnded || socket.destroyed) throw new Error('the connection is over');
    else await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
  }
  if (bytes.length > count) socket.unshift(bytes.subarray(count));
  return bytes.subarray(0, count);
}

function socksRequest(host: string, port: number): Buffer {
  return Buffer.from([5, 1, 0, 5, 1, 0, 3, host.length, ...Buffer.from(host), port >> 8, port & 0xff]);
}

/** Asks by SOCKS5 in one piece. Returns the reply of RFC 1928 §6. */
export async function askSocks(port: number, host: string, targetPort: number, more = ''): Promise<[Socket, number]> {
  const socket = await connectTo(port);
  socket.write(Buffer.concat([socksRequest(host, targetPort), Buffer.from(more)]));
  expect(await readBytes(socket, 2)).toEqual(Buffer.from([5, 0]));
  const reply = await readBytes(socket, 10);
  expect([...reply.subarray(2)]).toEqual([0, 1, 0, 0, 0, 0, 0, 0]);
  return [socket, reply[1]!];
}

/** Asks by HTTP. Returns the head of the response. */
export async function askHttp(port: number, request: string): Promise<[Socket, string]> {
  const socket = await connectTo(port);
  socket.write(request);
  let head = '';
  while (!head.endsWith('\r\n\r\n')) head += (await readBytes(socket, 1)).toString('latin1');
  return [socket, head];
}

export const connectRequest = (target: string): string => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;

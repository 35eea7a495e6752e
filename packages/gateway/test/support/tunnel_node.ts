import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
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

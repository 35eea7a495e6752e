import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** What a balancer needs to know of a server behind it */
export interface Target {
  address: string;
  port: number;
}

/** A balancer that knows no connections: it gives each datagram to any of its servers. */
export interface SprayingBalancer {
  port: number;
  /** Datagrams that each server got */
  readonly counts: readonly number[];
  /** Gives what comes from now on to these servers alone. */
  setTargets(targets: readonly Target[]): void;
  /** Gives all clients other ports from now on, as the servers see them. */
  rebind(): void;
}

/** Opens a balancer in front of `targets`. `random` returns numbers in [0, 1). */
export async function startSprayingBalancer(
  targets: readonly Target[],
  random: () => number,
): Promise<SprayingBalancer> {
  let open = targets;
  let counts = targets.map(() => 0);
  const sockets = new Map<string, Socket>();
  const all = new Set<Socket>();
  const front = createSocket('udp4').bind(0, '127.0.0.1');
  await once(front, 'listening');
  front.setRecvBufferSize(4 * 2 ** 20);
  const socketOf = (address: string, port: number): Socket => {
    const key = `${address}:${port}`;
    const known = sockets.get(key);
    if (known) return known;
    const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 2 ** 20 });
    socket.on('message', (message) => front.send(message, port, address));
    sockets.set(key, socket);
    all.add(socket);
    return socket;
  };
  front.on('message', (message, { address, port }) => {
    const chosen = Math.floor(random() * open.length);
    const target = open[chosen];
    if (!target) return;
    counts[chosen] = (counts[chosen] ?? 0) + 1;
    socketOf(address, port).send(message, target.port, target.address);
  });
  onTestFinished(() => {
    front.close();
    for (const socket of all) socket.close();
  });
  return {
    port: front.address().port,
    get counts() {
      return counts;
    },
    setTargets: (next) => {
      open = next;
      counts = next.map(() => 0);
    },
    rebind: () => sockets.clear(),
  };
}

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createLinkRelay, type LinkRelay } from '@sheaf/native';
import { onTestFinished } from 'vitest';

/** A link of 40 Mbit/s to the port, on 127.0.0.1. */
export function relayTo(port: number): { relay: LinkRelay; remote: string } {
  const direction = { rate: 40e6, delayMs: 5, queueBytes: 256 * 1024 };
  const relay = createLinkRelay({
    listen: { address: '127.0.0.1', port: 0 },
    target: { address: '127.0.0.1', port },
    there: direction,
    back: direction,
    seed: 1,
  });
  onTestFinished(() => relay.close());
  return { relay, remote: `127.0.0.1:${relay.listen().port}` };
}

/** A way to the port, on 127.0.0.1, that can be cut: for all, or for those alone that send over it already */
export async function switchTo(port: number) {
  const front = createSocket('udp4').bind(0, '127.0.0.1');
  const ways = new Map<number, Socket>();
  const cut = new Set<number>();
  let down = false;
  const isCut = (client: number): boolean => down || cut.has(client);
  await once(front, 'listening');
  onTestFinished(() => {
    for (const socket of [front, ...ways.values()]) socket.close();
  });
  const wayOf = (client: number): Socket => {
    const way = createSocket('udp4');
    way.on('error', () => undefined);
    way.on('message', (packet) => {
      if (!isCut(client)) front.send(packet, client, '127.0.0.1');
    });
    ways.set(client, way);
    return way;
  };
  front.on('message', (packet, { port: client }) => {
    const way = ways.get(client) ?? wayOf(client);
    if (!isCut(client)) way.send(packet, port, '127.0.0.1');
  });
  return {
    remote: `127.0.0.1:${front.address().port}`,
    cutKnown: () => {
      for (const client of ways.keys()) cut.add(client);
    },
    cutAll: () => void (down = true),
    restore: () => {
      cut.clear();
      down = false;
    },
  };
}

/** A translator of addresses (NAT) before the port, on 127.0.0.1: `rebind` gives each client another address at the server. */
export async function translatorTo(port: number) {
  const front = createSocket('udp4').bind(0, '127.0.0.1');
  const ways = new Map<number, Socket>();
  await once(front, 'listening');
  const closeWays = (): void => {
    for (const way of ways.values()) way.close();
    ways.clear();
  };
  onTestFinished(() => {
    front.close();
    closeWays();
  });
  front.on('message', (packet, { port: client }) => {
    const way = ways.get(client) ?? createSocket('udp4');
    if (!ways.has(client)) way.on('message', (answer) => front.send(answer, client, '127.0.0.1'));
    ways.set(client, way);
    way.send(packet, port, '127.0.0.1');
  });
  return { port: front.address().port, rebind: closeWays };
}

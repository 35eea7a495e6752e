import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** Random numbers in [0, 1) that a seed repeats (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface LossyRelay {
  port: number;
  /** Datagrams that were dropped and carried so far. */
  counts: { dropped: number; carried: number };
  close(): void;
}

/** Carries UDP datagrams between loopback clients and `target`, and drops `loss` of them each way. */
export async function startLossyRelay(target: number, loss: number, seed: number): Promise<LossyRelay> {
  const random = seededRandom(seed);
  const counts = { dropped: 0, carried: 0 };
  const outside = createSocket('udp4');
  const insides = new Map<number, Socket>();
  const pass = (send: () => void): void => {
    if (random() < loss) {
      counts.dropped += 1;
      return;
    }
    counts.carried += 1;
    send();
  };
  outside.on('message', (datagram, client) => {
    let inside = insides.get(client.port);
    if (!inside) {
      inside = createSocket('udp4');
      inside.on('message', (answer) => pass(() => outside.send(answer, client.port, '127.0.0.1')));
      insides.set(client.port, inside);
    }
    const carrier = inside;
    pass(() => carrier.send(datagram, target, '127.0.0.1'));
  });
  outside.bind(0, '127.0.0.1');
  await once(outside, 'listening');
  return {
    port: outside.address().port,
    counts,
    close() {
      outside.close();
      for (const inside of insides.values()) inside.close();
    },
  };
}

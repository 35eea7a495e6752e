// A balancer in user space, in a process of its own, since it must not share the event loop of the load.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { seededRandom, type Random } from '../pages/content/random.js';
import { serveCalls } from '../process/called_process.js';

/** A gateway behind the balancer */
export interface Target {
  port: number;
  /** Port where its health is asked */
  admin: number;
}

export type BalancerCall = { open: { targets: readonly Target[]; seed: number } } | { counts: true };

const checkMs = 500;
const checkTimeoutMs = 2_000;
/** Failed checks after which a gateway gets nothing */
const failuresUntilOut = 2;
/** Silence after which the address of a client is forgotten; longer than the idle time of its connection */
const forgetMs = 90_000;
const maxClients = 10_000;
const bufferBytes = 4 * 2 ** 20;

interface Client {
  socket: Socket;
  usedAt: number;
}

interface Checked extends Target {
  failures: number;
  datagrams: number;
}

/** Gives each datagram to any of the gateways that pass its checks. It knows no connections. */
class SprayingBalancer {
  readonly #targets: Checked[];
  readonly #random: Random;
  readonly #front = createSocket({ type: 'udp4', recvBufferSize: bufferBytes });
  readonly #clients = new Map<string, Client>();

  constructor(targets: readonly Target[], seed: number) {
    this.#targets = targets.map((target) => ({ ...target, failures: 0, datagrams: 0 }));
    this.#random = seededRandom(`spray ${seed}`);
    this.#front.on('message', (message, { address, port }) => this.#spray(message, address, port));
    for (const target of this.#targets) setInterval(() => void check(target), checkMs).unref();
    setInterval(() => this.#forget(performance.now() - forgetMs), checkMs).unref();
  }

  async open(): Promise<number> {
    this.#front.bind(0, '127.0.0.1');
    await once(this.#front, 'listening');
    return this.#front.address().port;
  }

  counts(): number[] {
    return this.#targets.map(({ datagrams }) => datagrams);
  }

  #spray(message: Buffer, address: string, port: number): void {
    const open = this.#targets.filter(({ failures }) => failures < failuresUntilOut);
    const target = open[this.#random() % open.length];
    const client = this.#client(address, port);
    if (!target || !client) return;
    target.datagrams += 1;
    client.usedAt = performance.now();
    client.socket.send(message, target.port, '127.0.0.1');
  }

  /** Returns the socket by which the gateways know a client. */
  #client(address: string, port: number): Client | undefined {
    const key = `${address}:${port}`;
    const known = this.#clients.get(key);
    if (known || this.#clients.size >= maxClients) return known;
    const socket = createSocket({ type: 'udp4', recvBufferSize: bufferBytes });
    socket.on('message', (message) => this.#front.send(message, port, address));
    // The port of a killed gateway is closed.
    socket.on('error', () => undefined);
    const client = { socket, usedAt: 0 };
    this.#clients.set(key, client);
    return client;
  }

  #forget(before: number): void {
    for (const [key, { socket, usedAt }] of this.#clients) {
      if (usedAt > before) continue;
      socket.close();
      this.#clients.delete(key);
    }
  }
}

async function check(target: Checked): Promise<void> {
  try {
    const response = await fetch(`http://127.0.0.1:${target.admin}/readyz`, {
      signal: AbortSignal.timeout(checkTimeoutMs),
    });
    await response.arrayBuffer();
    target.failures = response.ok ? 0 : target.failures + 1;
  } catch {
    target.failures += 1;
  }
}

let balancer: SprayingBalancer | undefined;
serveCalls<BalancerCall>((call) => {
  if ('counts' in call) return balancer?.counts();
  balancer = new SprayingBalancer(call.open.targets, call.open.seed);
  return balancer.open();
});

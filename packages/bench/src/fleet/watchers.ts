import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '@sheaf/gateway';
import type { Connection, Connections } from './connections.js';
import type { FleetNode } from './fleet_nodes.js';

/** Connections for each gateway */
const perGateway = 2;
const maxAttempts = 60;
const askMs = 1_000;

/** Clients that ask once in a second, and never give up: they see what the transport tells them of a dead gateway. */
export class Watchers {
  readonly #connections: Connections;
  readonly #gateways: readonly FleetNode[];
  #held: Connection[] = [];

  constructor(connections: Connections, gateways: readonly FleetNode[]) {
    this.#connections = connections;
    this.#gateways = gateways;
  }

  /** Opens connections until each gateway has some. @throws UserError when one gets none */
  async fill(): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      if (this.#gateways.every(({ name }) => this.#of(name).length >= perGateway)) return;
      const connection = await this.#connections.open().catch(() => undefined);
      if (!connection) continue;
      if (this.#of(connection.gateway).length < perGateway) this.#keep(connection);
      else await connection.close();
    }
    throw new UserError('BENCH_FAILED', `one of the gateways got none of ${maxAttempts} new connections`);
  }

  /** Waits until the transport has ended all connections of a gateway, or the time is over. */
  async untilClosed({ name }: FleetNode, patienceMs: number): Promise<void> {
    const end = performance.now() + patienceMs;
    while (this.#of(name).length > 0 && performance.now() < end) await sleep(50);
  }

  async close(): Promise<void> {
    await Promise.all(this.#held.map((connection) => connection.close()));
  }

  #of(name: string): Connection[] {
    return this.#held.filter(({ gateway, closed }) => gateway === name && !closed);
  }

  #keep(connection: Connection): void {
    this.#held = [...this.#held.filter(({ closed }) => !closed), connection];
    void this.#ask(connection);
  }

  async #ask(connection: Connection): Promise<void> {
    while (!connection.closed) {
      await connection.get('/small', new AbortController().signal).catch(() => undefined);
      await sleep(askMs);
    }
  }
}

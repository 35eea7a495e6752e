import type { ServedConnection } from '@sheaf/native';

/** Callers that nobody knows yet: a small part of all that may be connected, so that nodes find places. */
export const maxStrangers = 128;

interface Stranger {
  address: string;
  timer: NodeJS.Timeout;
}

/** Connections that have not introduced themselves. Each has some time for it, and less when there are many. */
export class Strangers {
  readonly #patienceMs: number;
  /** In the order in which they came. */
  readonly #all = new Map<ServedConnection, Stranger>();

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  add(connection: ServedConnection): void {
    const timer = setTimeout(() => this.#turnAway(connection), this.#patienceMs).unref();
    this.#all.set(connection, { timer, address: connection.status().paths[0]?.remote.address ?? '' });
    if (this.#all.size > maxStrangers) this.#turnAway(this.#oldestOfMost());
  }

  /** It is known now, or has left. */
  delete(connection: ServedConnection): void {
    clearTimeout(this.#all.get(connection)?.timer);
    this.#all.delete(connection);
  }

  #turnAway(connection: ServedConnection): void {
    this.delete(connection);
    connection.close();
  }

  /** The address with the most of them loses one: a node that calls has one. */
  #oldestOfMost(): ServedConnection {
    const byAddress = new Map<string, ServedConnection[]>();
    for (const [connection, { address }] of this.#all) {
      const others = byAddress.get(address);
      if (others) others.push(connection);
      else byAddress.set(address, [connection]);
    }
    return [...byAddress.values()].reduce((most, each) => (each.length > most.length ? each : most))[0]!;
  }
}

import type { ServedConnection } from '@sheaf/native';

/** Maximum of callers that have not identified themselves: a small part of all connections, so that nodes find room. */
export const maxStrangers = 128;

interface Stranger {
  address: string;
  timer: NodeJS.Timeout;
}

/** Connections that have not identified themselves. Each has limited time for it, and less when there are many. */
export class Strangers {
  readonly #patienceMs: number;
  /** Strangers in order of arrival */
  readonly #all = new Map<ServedConnection, Stranger>();

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  add(connection: ServedConnection): void {
    const timer = setTimeout(() => this.#turnAway(connection), this.#patienceMs).unref();
    this.#all.set(connection, { timer, address: connection.status().paths[0]?.remote.address ?? '' });
    if (this.#all.size > maxStrangers) this.#turnAway(this.#oldestOfMost());
  }

  /** Removes a connection that has identified itself, or has closed. */
  delete(connection: ServedConnection): void {
    clearTimeout(this.#all.get(connection)?.timer);
    this.#all.delete(connection);
  }

  #turnAway(connection: ServedConnection): void {
    this.delete(connection);
    connection.close();
  }

  /** Returns the oldest connection of the address with the most of them. A genuine node has only one. */
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

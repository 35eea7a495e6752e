import { mostCarried } from '../backbone/backbone_link.js';
import type { Exchange } from '../http/exchange.js';

/** A client that has taken nothing for so long makes room for others, when there is none. */
const stalledMs = 5_000;

interface Carried {
  /** When `bytes` was found. */
  since: number;
  bytes: number;
}

/** The requests that are being carried to one node, so that they stay within what it and this node can bear. */
export class CarriedRequests {
  readonly #most: number;
  readonly #all = new Map<Exchange, Carried>();
  /** How many of them come from an address. */
  readonly #byClient = new Map<string, number>();

  constructor(most = mostCarried) {
    this.#most = most;
  }

  get count(): number {
    return this.#all.size;
  }

  /** False: there is no room, at `now` in milliseconds. Who comes in calls `leave`. */
  enter(exchange: Exchange, now: number): boolean {
    const client = clientOf(exchange);
    if (!this.#hasRoomFor(client)) this.#giveUpStalled(now, this.#all.size < this.#most ? client : undefined);
    if (!this.#hasRoomFor(client)) return false;
    this.#all.set(exchange, { since: now, bytes: 0 });
    this.#byClient.set(client, this.#heldBy(client) + 1);
    return true;
  }

  leave(exchange: Exchange): void {
    if (!this.#all.delete(exchange)) return;
    const client = clientOf(exchange);
    const held = this.#heldBy(client) - 1;
    if (held > 0) this.#byClient.set(client, held);
    else this.#byClient.delete(client);
  }

  /**
   * Who holds as many places as are free gets no more: a client that is alone has half of them, and whatever a few want, they
   * leave some to the next one (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998).
   */
  #hasRoomFor(client: string): boolean {
    return this.#heldBy(client) < this.#most - this.#all.size;
  }

  #heldBy(client: string): number {
    return this.#byClient.get(client) ?? 0;
  }

  /** The one that has not been read for the longest time: of this client, if one is given. */
  #giveUpStalled(now: number, client: string | undefined): void {
    let longest: [Exchange, Carried] | undefined;
    for (const [exchange, carried] of this.#all) {
      if (exchange.bytesSent !== carried.bytes || exchange.response.writableLength === 0) {
        carried.bytes = exchange.bytesSent;
        carried.since = now;
      } else if ((client === undefined || clientOf(exchange) === client) && now - carried.since >= stalledMs && carried.since < (longest?.[1].since ?? Infinity)) longest = [exchange, carried];
    }
    if (!longest) return;
    this.leave(longest[0]);
    // HTTP/2 calls an answer without an error complete.
    longest[0].response.destroy(new Error('the client does not read its answer, and others wait for its place'));
  }
}

function clientOf({ request }: Exchange): string {
  return request.remoteAddress;
}

import { isIP } from 'node:net';
import type { BackendWithdrawal, ServerConnection, SocketAddress } from '@sheaf/native';
import type { Logger } from 'pino';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import { BackboneViolation } from '../backbone/byte_fields.js';
import type { Channel } from '../backbone/channel.js';
import type { BackboneMessage } from '../backbone/messages.js';
import type { Sealer } from '../backbone/sealed_message.js';
import type { ListenAddress } from '../../values/scalars.js';
import type { EndTrace } from '../../http/tracer.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';

/** Pauses between hand-overs of one connection */
const pauses: BackOff = { first: 1_000, longest: 60_000 };
/** Duration in milliseconds after which a hand-over counts as successful */
const goodMs = 10_000;

/** One connection at the backend */
interface HandedOver {
  /** Number of the connection, by which both nodes name it */
  number: number;
  connection: ServerConnection;
  state: 'sent' | 'offered' | 'withdrawn';
  since: number;
  failures: number;
  /** Ends its trace, until the backend has the connection */
  endTrace: EndTrace | undefined;
}

/** A connection that the backend does not have, and when it may get it */
interface Waiting {
  retryAt: number;
  failures: number;
}

export interface HandOversOptions {
  /** Id of the backend, by which clients know it */
  id: number;
  /** Returns the addresses where clients reach the backend. */
  addresses(): readonly ListenAddress[];
  /** Begins the trace of a hand-over. */
  trace?(): EndTrace | undefined;
  log: Logger;
}

/**
 * The connections that a gateway hands over to one of its backends. They are handed over while the backend serves, and
 * withdrawn when it stops.
 */
export class HandOvers {
  readonly #options: HandOversOptions;
  readonly #byConnection = new Map<ServerConnection, HandedOver>();
  readonly #byNumber = new Map<number, HandedOver>();
  readonly #waiting = new Map<ServerConnection, Waiting>();
  /** Connections that were forgotten while the backend was disconnected, and what to tell it about them */
  readonly #unsaid: { number: number; code: number }[] = [];
  #link: { channel: Channel; sealer: Sealer } | undefined;
  #serves = false;
  /** Takes the connections that the backend does not have; absent while they may go to it */
  #elsewhere: ((connection: ServerConnection) => void) | undefined;
  #next = 1;

  constructor(options: HandOversOptions) {
    this.#options = options;
  }

  /** Number of connections that the backend has, or is about to have */
  get count(): number {
    return this.#byNumber.size;
  }

  /** Number of connections that were offered to their clients */
  get offered(): number {
    return [...this.#byNumber.values()].filter(({ state }) => state === 'offered').length;
  }

  /** Connects to the backend. `known`: its process is the same as before. */
  attach(channel: Channel, sealer: Sealer, known: boolean): void {
    this.#link = { channel, sealer };
    const unsaid = this.#unsaid.splice(0);
    if (known) for (const { number, code } of unsaid) channel.send({ type: 'left', connection: number, code });
    for (const entry of [...this.#byNumber.values()]) {
      // The backend may lack connections that it never confirmed, and a new process has none at all.
      if (!known || entry.state === 'sent') this.#abandon(entry);
      // Repeats the release: either the message or the response may be lost.
      else if (entry.state === 'withdrawn') channel.send({ type: 'release', connection: entry.number });
    }
  }

  detach(): void {
    this.#link = undefined;
  }

  /** Adds a connection whose client speaks Multi-End. */
  add(connection: ServerConnection): void {
    if (this.#elsewhere) return this.#elsewhere(connection);
    this.#waiting.set(connection, { retryAt: 0, failures: 0 });
    this.handOverWaiting();
  }

  /** Removes a connection that has closed. */
  remove(connection: ServerConnection): void {
    this.#waiting.delete(connection);
    const entry = this.#byConnection.get(connection);
    if (entry) this.#forget(entry, 0);
  }

  /** Starts to hand over connections. */
  serve(): void {
    this.#serves = true;
    // Connections whose last requests are still finishing follow once the backend has released them.
    this.handOverWaiting();
  }

  /** Stops new hand-overs. */
  pause(): void {
    this.#serves = false;
  }

  /** Hands over no more. `take` gets the connections that the backend does not have, now and when they come back from it. */
  leaveTo(take: (connection: ServerConnection) => void): void {
    this.#elsewhere = take;
    const waiting = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const connection of waiting) take(connection);
  }

  /** Stops new hand-overs, and new requests on connections that the backend has. */
  withdraw(how: BackendWithdrawal): void {
    this.pause();
    for (const entry of [...this.#byNumber.values()]) {
      if (how === 'gone' || entry.state === 'sent') this.#abandon(entry);
      else if (entry.state === 'offered') this.#release(entry);
    }
  }

  /**
   * Hands over connections whose time has come. Call this about once a second, so that failed hand-overs are tried
   * again.
   */
  handOverWaiting(): void {
    if (!this.#serves || !this.#link) return;
    const now = performance.now();
    for (const [connection, { retryAt, failures }] of [...this.#waiting])
      if (now >= retryAt) this.#handOver(connection, failures);
  }

  /** Handles a message of the backend. @throws BackboneViolation */
  onMessage(message: BackboneMessage): void {
    switch (message.type) {
      case 'accepted':
        return this.#with(message.connection, (entry) => this.#offer(entry));
      case 'refused':
        return this.#with(message.connection, (entry) => {
          this.#options.log.warn(
            { backend: this.#options.id, reason: message.reason },
            'a backend refused a connection',
          );
          this.#endTrace(entry, message.reason);
          this.#abandon(entry);
        });
      case 'lease':
        return this.#with(message.connection, (entry) => this.#carry(entry, message.bytes));
      case 'left':
        return this.#with(message.connection, (entry) => this.#abandon(entry));
      default:
        throw new BackboneViolation(`a backend does not send ${message.type}`);
    }
  }

  /** Forwards a message of the engine to the backend. */
  onBackendMessage(connection: ServerConnection, bytes: Buffer): void {
    const entry = this.#byConnection.get(connection);
    if (entry) this.#link?.channel.send({ type: 'lease', connection: entry.number, bytes });
  }

  /** Notes that the client or this node abandoned the path. */
  onPathAbandoned(connection: ServerConnection, code: number): void {
    const entry = this.#byConnection.get(connection);
    if (!entry) return;
    this.#forget(entry, code);
    this.#wait(entry);
  }

  #with(number: number, work: (entry: HandedOver) => void): void {
    const entry = this.#byNumber.get(number);
    // Messages about a connection that is gone may cross ours.
    if (entry) work(entry);
  }

  #handOver(connection: ServerConnection, failures: number): void {
    const link = this.#link!;
    const address = this.#addressFor(connection);
    // The client's network does not reach the backend.
    if (!address) return void this.#waiting.delete(connection);
    let snapshot: Buffer;
    try {
      snapshot = connection.handOver(this.#options.id, address);
    } catch (error) {
      this.#options.log.debug(
        { backend: this.#options.id, error: errorMessage(error) },
        'a connection cannot be handed over yet',
      );
      this.#waiting.set(connection, {
        retryAt: performance.now() + backOffMs(failures, pauses),
        failures: failures + 1,
      });
      return;
    }
    this.#waiting.delete(connection);
    const entry: HandedOver = {
      number: this.#next,
      connection,
      state: 'sent',
      since: performance.now(),
      failures,
      endTrace: this.#options.trace?.(),
    };
    this.#next += 1;
    this.#byConnection.set(connection, entry);
    this.#byNumber.set(entry.number, entry);
    link.channel.send({ type: 'snapshot', connection: entry.number, sealed: link.sealer.seal(snapshot) });
  }

  #addressFor(connection: ServerConnection): SocketAddress | undefined {
    const [first] = connection.status().paths;
    const family = first?.remote.family ?? 'IPv4';
    const found = this.#options.addresses().find(({ address }) => isIP(address) === (family === 'IPv6' ? 6 : 4));
    return found && { ...found, family };
  }

  #offer(entry: HandedOver): void {
    if (entry.state !== 'sent') return;
    try {
      entry.connection.offerBackend(this.#options.id);
      entry.state = 'offered';
      this.#endTrace(entry);
    } catch (error) {
      this.#options.log.debug({ backend: this.#options.id, error: errorMessage(error) }, 'a backend cannot be offered');
      this.#abandon(entry);
    }
  }

  #carry({ connection }: HandedOver, bytes: Buffer): void {
    try {
      connection.receiveBackendMessage(this.#options.id, bytes);
    } catch (error) {
      if (systemErrorCode(error) === 'BACKEND_MESSAGE') throw new BackboneViolation(errorMessage(error));
      this.#options.log.debug(
        { backend: this.#options.id, error: errorMessage(error) },
        'a message of a backend came too late',
      );
    }
  }

  #release(entry: HandedOver): void {
    entry.state = 'withdrawn';
    this.#tell(entry, 'drains');
    this.#link?.channel.send({ type: 'release', connection: entry.number });
  }

  /** Withdraws a connection that the backend does not have, or no longer has. */
  #abandon(entry: HandedOver): void {
    this.#forget(entry, 0);
    this.#tell(entry, 'gone');
    this.#wait(entry);
  }

  #tell({ connection }: HandedOver, how: BackendWithdrawal): void {
    try {
      connection.withdrawBackend(this.#options.id, how);
    } catch (error) {
      this.#options.log.debug(
        { backend: this.#options.id, error: errorMessage(error) },
        'a backend is withdrawn already',
      );
    }
  }

  #endTrace(entry: HandedOver, failure?: string): void {
    entry.endTrace?.(failure);
    entry.endTrace = undefined;
  }

  #forget(entry: HandedOver, code: number): void {
    this.#endTrace(entry, 'the connection left before its client knew the backend');
    this.#byConnection.delete(entry.connection);
    this.#byNumber.delete(entry.number);
    if (this.#link) this.#link.channel.send({ type: 'left', connection: entry.number, code });
    else this.#unsaid.push({ number: entry.number, code });
  }

  #wait({ connection, since, failures }: HandedOver): void {
    if (this.#elsewhere) return this.#elsewhere(connection);
    const counted = performance.now() - since > goodMs ? 0 : failures;
    this.#waiting.set(connection, { retryAt: performance.now() + backOffMs(counted, pauses), failures: counted + 1 });
  }
}

import type { Http3Server, ImportedConnection } from '@sheaf/native';
import type { Logger } from 'pino';
import { BackboneViolation } from '../backbone/byte_fields.js';
import type { Channel } from '../backbone/channel.js';
import type { BackboneMessage } from '../backbone/messages.js';
import type { NodeKey } from '../../values/node_key.js';
import { Opener, SealRefused, snapshotKind, type Sodium } from '../backbone/sealed_message.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';

export interface GuestsOptions {
  server(): Http3Server | undefined;
  key: NodeKey;
  sodium: Sodium;
  log: Logger;
  /** Returns why this backend accepts no more connections; undefined while it does. */
  refusal(): string | undefined;
}

/**
 * The connections that this backend serves for one run of its gateway. They outlive the backbone's connections, and
 * even the gateway: then they continue with the credit that they have, until their clients leave.
 */
export class Guests {
  readonly #options: GuestsOptions;
  readonly #connections = new Map<number, ImportedConnection>();
  /** Numbers of connections that have finished here */
  readonly #drained = new Set<number>();
  #channel: Channel | undefined;
  #opener: Opener | undefined;

  constructor(options: GuestsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#connections.size;
  }

  /** Whether the gateway is disconnected at the moment */
  get orphaned(): boolean {
    return this.#channel === undefined;
  }

  connections(): ImportedConnection[] {
    return [...this.#connections.values()];
  }

  attach(channel: Channel): void {
    this.#channel?.close('another connection between the two nodes takes its place');
    this.#opener?.close();
    const { key, sodium } = this.#options;
    const opener = new Opener(key, channel.session, sodium, snapshotKind);
    this.#opener = opener;
    this.#channel = channel;
    channel.once('close', () => {
      opener.close();
      if (this.#channel === channel) this.#channel = undefined;
    });
  }

  /** Drains all connections. Each reports when it has finished. */
  drain(): void {
    for (const connection of this.#connections.values()) connection.drain();
  }

  /** Handles a message of the gateway. @throws BackboneViolation */
  onMessage(message: BackboneMessage): void {
    switch (message.type) {
      case 'snapshot':
        return this.#take(message.connection, message.sealed);
      case 'lease':
        return this.#carry(message.connection, message.bytes);
      case 'release':
        return this.#release(message.connection);
      case 'left': {
        const connection = this.#connections.get(message.connection);
        this.#remove(message.connection);
        connection?.forget();
        return;
      }
      default:
        throw new BackboneViolation(`a gateway does not send ${message.type}`);
    }
  }

  /** Drains a connection. After a cut the gateway asks again, since it did not receive earlier messages. */
  #release(number: number): void {
    const connection = this.#connections.get(number);
    if (connection && !this.#drained.has(number)) connection.drain();
    else this.#say(number);
  }

  #remove(number: number): boolean {
    this.#drained.delete(number);
    return this.#connections.delete(number);
  }

  #take(number: number, sealed: Buffer): void {
    const refuse = (why: string): void => {
      this.#options.log.warn({ connection: number, reason: why }, 'a connection is refused');
      this.#channel?.send({ type: 'refused', connection: number, reason: why });
    };
    if (this.#connections.has(number)) throw new BackboneViolation('the number of a connection is used twice');
    try {
      const taken = this.#import(sealed);
      if (typeof taken === 'string') return refuse(taken);
      this.#adopt(number, taken);
    } catch (error) {
      if (!(error instanceof SealRefused) && systemErrorCode(error) === undefined) throw error;
      return refuse(errorMessage(error));
    }
    this.#channel?.send({ type: 'accepted', connection: number });
  }

  /** Opens the snapshot and returns the connection, or the reason for a refusal. @throws SealRefused, QuicError */
  #import(sealed: Buffer): ImportedConnection | string {
    if (!this.#opener) throw new SealRefused('session', snapshotKind);
    // Opens the snapshot even if the connection is refused. Otherwise the counter of the next one would not fit.
    const snapshot = this.#opener.open(sealed);
    try {
      const { server, refusal } = this.#options;
      return refusal() ?? server()?.importConnection(snapshot) ?? 'the backend is not listening';
    } finally {
      snapshot.fill(0);
    }
  }

  #adopt(number: number, connection: ImportedConnection): void {
    this.#connections.set(number, connection);
    connection.on('primaryMessage', (bytes) => this.#channel?.send({ type: 'lease', connection: number, bytes }));
    // The gateway then withdraws the backend from the client, and answers with `left`.
    connection.once('drained', () => {
      this.#drained.add(number);
      this.#say(number);
    });
    connection.once('close', () => {
      if (this.#remove(number)) this.#say(number);
    });
  }

  /** Reports that this backend has finished with the connection. */
  #say(number: number): void {
    this.#channel?.send({ type: 'left', connection: number, code: 0 });
  }

  #carry(number: number, bytes: Buffer): void {
    try {
      this.#connections.get(number)?.receivePrimaryMessage(bytes);
    } catch (error) {
      if (systemErrorCode(error) === 'BACKEND_MESSAGE') throw new BackboneViolation(errorMessage(error));
      throw error;
    }
  }
}

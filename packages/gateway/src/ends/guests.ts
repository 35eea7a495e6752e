import type { Http3Server, ImportedConnection } from '@sheaf/native';
import type { Logger } from 'pino';
import { BackboneViolation } from '../backbone/byte_fields.js';
import type { Channel } from '../backbone/channel.js';
import type { BackboneMessage } from '../backbone/messages.js';
import type { NodeKey } from '../backbone/node_key.js';
import { SnapshotOpener, SnapshotRefused, type Sodium } from '../backbone/sealed_snapshot.js';
import { errorMessage, systemErrorCode } from '../errors/user_error.js';

export interface GuestsOptions {
  server(): Http3Server | undefined;
  key: NodeKey;
  sodium: Sodium;
  log: Logger;
  /** Why this end wants no more connections; undefined while it does. */
  refusal(): string | undefined;
}

/**
 * The connections of one life of a gateway that this end serves. They outlive the backbone's connections, and the
 * gateway, too: then they go on with the credit that they have until their clients leave.
 */
export class Guests {
  readonly #options: GuestsOptions;
  readonly #connections = new Map<number, ImportedConnection>();
  #channel: Channel | undefined;
  #opener: SnapshotOpener | undefined;

  constructor(options: GuestsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#connections.size;
  }

  /** Nobody speaks for these connections at the moment. */
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
    const opener = new SnapshotOpener(key, channel.session, sodium);
    this.#opener = opener;
    this.#channel = channel;
    channel.once('close', () => {
      opener.close();
      if (this.#channel === channel) this.#channel = undefined;
    });
  }

  /** Lets all of them go; each says when it is done. */
  drain(): void {
    for (const connection of this.#connections.values()) connection.drain();
  }

  /** @throws BackboneViolation */
  onMessage(message: BackboneMessage): void {
    switch (message.type) {
      case 'snapshot':
        return this.#take(message.connection, message.sealed);
      case 'lease':
        return this.#carry(message.connection, message.bytes);
      case 'release':
        return this.#connections.get(message.connection)?.drain();
      case 'left': {
        const connection = this.#connections.get(message.connection);
        this.#connections.delete(message.connection);
        connection?.forget();
        return;
      }
      default:
        throw new BackboneViolation(`a gateway does not send ${message.type}`);
    }
  }

  #take(number: number, sealed: Buffer): void {
    const { refusal, log } = this.#options;
    const refuse = (why: string): void => {
      log.warn({ connection: number, reason: why }, 'a connection is refused');
      this.#channel?.send({ type: 'refused', connection: number, reason: why });
    };
    if (this.#connections.has(number)) throw new BackboneViolation('the number of a connection is used twice');
    const reason = refusal();
    if (reason !== undefined) return refuse(reason);
    try {
      this.#adopt(number, this.#import(sealed));
    } catch (error) {
      if (!(error instanceof SnapshotRefused) && systemErrorCode(error) === undefined) throw error;
      return refuse(errorMessage(error));
    }
    this.#channel?.send({ type: 'accepted', connection: number });
  }

  #import(sealed: Buffer): ImportedConnection {
    const server = this.#options.server();
    if (!server || !this.#opener) throw new SnapshotRefused('session');
    const snapshot = this.#opener.open(sealed);
    try {
      return server.importConnection(snapshot);
    } finally {
      snapshot.fill(0);
    }
  }

  #adopt(number: number, connection: ImportedConnection): void {
    this.#connections.set(number, connection);
    connection.on('primaryMessage', (bytes) => this.#channel?.send({ type: 'lease', connection: number, bytes }));
    // The gateway withdraws the end from the client, and answers with `left`.
    connection.once('drained', () => this.#say(number));
    connection.once('close', () => {
      if (this.#connections.delete(number)) this.#say(number);
    });
  }

  /** This end has no more to do with it. */
  #say(number: number): void {
    this.#channel?.send({ type: 'left', connection: number, code: 0 });
  }

  #carry(number: number, bytes: Buffer): void {
    try {
      this.#connections.get(number)?.receivePrimaryMessage(bytes);
    } catch (error) {
      if (systemErrorCode(error) === 'END_MESSAGE') throw new BackboneViolation(errorMessage(error));
      throw error;
    }
  }
}

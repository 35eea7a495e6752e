import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { errorMessage } from '../../errors/user_error.js';
import { BackboneViolation } from './byte_fields.js';
import { MessageReader } from './message_reader.js';
import { encodeMessage, type BackboneMessage } from './messages.js';
import type { SealingSession } from './sealed_snapshot.js';

/** What waits for a peer that does not read; more ends the connection. */
const maxBacklog = 4 * 1024 * 1024;

/** The way out of this node. */
export interface Outgoing {
  /** Bytes that wait for the transport. */
  readonly backlog: number;
  write(bytes: Buffer): void;
  end(): void;
}

interface ChannelEvents {
  message: [message: BackboneMessage];
  /** Nothing comes any more. */
  close: [reason: string];
}

/** Messages between two nodes that know each other, in both directions. */
export class Channel extends EventEmitter<ChannelEvents> {
  readonly #outgoing: Outgoing;
  #closed = false;

  constructor(
    /** Name of the node at the other side. */
    readonly peer: string,
    readonly session: SealingSession,
    /** Names the process at the other side. */
    readonly run: string,
    outgoing: Outgoing,
  ) {
    super();
    this.#outgoing = outgoing;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Nothing happens once it is closed: who sends is told by `close`. */
  send(message: BackboneMessage): void {
    if (this.#closed) return;
    this.#outgoing.write(encodeMessage(message));
    if (this.#outgoing.backlog > maxBacklog) this.close('the other node does not read what it is sent');
  }

  close(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outgoing.write(encodeMessage({ type: 'farewell', reason }));
    this.#outgoing.end();
    this.emit('close', reason);
  }

  /** For who reads the stream. A handler that finds the message wrong throws BackboneViolation. */
  receive(message: BackboneMessage): void {
    if (this.#closed) return;
    if (message.type === 'farewell') return this.lost(message.reason);
    this.emit('message', message);
  }

  /** The stream is at its end. */
  lost(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outgoing.end();
    this.emit('close', reason);
  }
}

/** Hands every message of a stream over, until it ends or is wrong; the result says why it ended. */
export async function readMessages(
  stream: Readable,
  take: (message: BackboneMessage) => void | Promise<void>,
): Promise<string> {
  const reader = new MessageReader();
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>)
      for (const message of reader.read(chunk)) await take(message);
    return 'the other node ended the connection';
  } catch (error) {
    if (error instanceof BackboneViolation) return `the other node broke the protocol: ${error.message}`;
    return errorMessage(error);
  } finally {
    stream.destroy();
  }
}

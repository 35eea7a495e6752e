import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { errorMessage } from '../../errors/user_error.js';
import { BackboneViolation } from './byte_fields.js';
import { MessageReader } from './message_reader.js';
import { encodeMessage, type BackboneMessage } from './messages.js';
import type { SealingSession } from './sealed_message.js';

/** Bound on the bytes that wait for a peer that does not read. Beyond it the connection ends. */
const maxBacklog = 4 * 1024 * 1024;

/** Writing side of a channel */
export interface Outgoing {
  /** Bytes that wait for the transport */
  readonly backlog: number;
  write(bytes: Buffer): void;
  end(): void;
}

interface ChannelEvents {
  message: [message: BackboneMessage];
  /** The channel is closed: no message follows. */
  close: [reason: string];
}

/** Messages in both directions between two nodes that have identified each other */
export class Channel extends EventEmitter<ChannelEvents> {
  readonly #outgoing: Outgoing;
  #closed = false;

  constructor(
    /** Name of the node at the other side */
    readonly peer: string,
    readonly session: SealingSession,
    /** Random id of the process at the other side */
    readonly run: string,
    outgoing: Outgoing,
  ) {
    super();
    this.#outgoing = outgoing;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sends a message. Does nothing once the channel is closed, since `close` has informed the caller. */
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

  /** Receives a message from the reader of the stream. A handler throws BackboneViolation for a wrong message. */
  receive(message: BackboneMessage): void {
    if (this.#closed) return;
    if (message.type === 'farewell') return this.lost(message.reason);
    this.emit('message', message);
  }

  /** Notes that the stream has ended. */
  lost(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outgoing.end();
    this.emit('close', reason);
  }
}

/**
 * Passes every message of a stream to `take`, until the stream ends or is malformed. Resolves with the reason why it
 * ended.
 */
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

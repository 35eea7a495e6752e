import type { Socket } from 'node:net';
import type { z } from 'zod';
import type { UpgradeMessage } from './messages.js';

/** A message is a line of JSON of at most this many characters. */
const longestLine = 1_048_576;

/** Messages between two processes, one after the other. Both may be of different versions, so that all are checked. */
export class ControlChannel {
  readonly #socket: Socket;
  readonly #lines: string[] = [];
  #rest = '';
  #ended = false;
  #wake: () => void = () => undefined;
  /** Resolves when the other process has ended, or has closed the channel. */
  readonly ended: Promise<void>;

  constructor(socket: Socket) {
    this.#socket = socket.setEncoding('utf8');
    socket.on('data', (text: string) => this.#take(text)).on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#ended = true;
        this.#wake();
        resolve();
      };
      socket.once('end', end).once('close', end);
    });
  }

  send(message: UpgradeMessage): void {
    if (!this.#ended) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Waits for a message. One reader at a time. Rejects when there is none to come, or with what is wrong with it. */
  async next<Message extends z.ZodType>(schema: Message): Promise<z.output<Message>> {
    while (this.#lines.length === 0) {
      if (this.#ended) throw new Error('it has ended');
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const line = this.#lines.shift()!;
    const read = schema.safeParse(parsed(line));
    if (!read.success) throw new Error('it does not understand the messages of this version');
    return read.data;
  }

  /** Keeps the process alive no more. */
  unref(): void {
    this.#socket.unref();
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    this.#lines.push(...lines);
    this.#wake();
    if (this.#rest.length > longestLine || this.#lines.length > 16) this.#socket.destroy();
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

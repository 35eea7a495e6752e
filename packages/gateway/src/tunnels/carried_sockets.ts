import type { Socket } from 'node:net';
import { joinStreams, type JoinedStream, type JoinOver } from './joined_streams.js';

/** What became of a tunnel for TCP */
export interface CarriedOver {
  reason: JoinOver;
  /** Bytes that the socket got, and that came from it */
  written: number;
  read: number;
  seconds: number;
}

/** The sockets of tunnels for TCP, and the bytes that these carried so far */
export class CarriedSockets {
  readonly #idleMs: number;
  readonly #open = new Set<Socket>();
  #written = 0;
  #read = 0;

  /** `idleMs`: time without a byte after which a tunnel ends */
  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  get totals(): { open: number; written: number; read: number } {
    const open = [...this.#open];
    return {
      open: open.length,
      written: open.reduce((sum, { bytesWritten }) => sum + bytesWritten, this.#written),
      read: open.reduce((sum, { bytesRead }) => sum + bytesRead, this.#read),
    };
  }

  /** Carries bytes between both until they have ended. Calls `onOver` once. */
  join(stream: JoinedStream, socket: Socket, onOver: (over: CarriedOver) => void): void {
    const started = performance.now();
    this.#open.add(socket);
    joinStreams(stream, socket, this.#idleMs, (reason) => {
      this.#open.delete(socket);
      const { bytesWritten: written, bytesRead: read } = socket;
      this.#written += written;
      this.#read += read;
      onOver({ reason, written, read, seconds: (performance.now() - started) / 1_000 });
    });
  }
}

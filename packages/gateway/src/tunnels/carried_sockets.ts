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
  readonly #open = new Set<Socket>();
  #written = 0;
  #read = 0;
  #openingMs: number | undefined;

  get totals(): { open: number; written: number; read: number; openingMs?: number } {
    const open = [...this.#open];
    return {
      open: open.length,
      written: open.reduce((sum, { bytesWritten }) => sum + bytesWritten, this.#written),
      read: open.reduce((sum, { bytesRead }) => sum + bytesRead, this.#read),
      ...(this.#openingMs !== undefined && { openingMs: this.#openingMs }),
    };
  }

  /** Waits for what opens a tunnel, and notes how long that took. */
  async timed<Opened>(opening: Promise<Opened>): Promise<Opened> {
    const started = performance.now();
    const opened = await opening;
    const took = performance.now() - started;
    // As round trips are smoothed (RFC 6298 §2)
    this.#openingMs = this.#openingMs === undefined ? took : (7 * this.#openingMs + took) / 8;
    return opened;
  }

  /** Breaks off what is left when the node stops: nothing else ends these sockets once the streams are gone. */
  close(): void {
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  /** Carries bytes between both until they have ended, or none came for so long. Calls `onOver` once. */
  join(stream: JoinedStream, socket: Socket, idleMs: number, onOver: (over: CarriedOver) => void): void {
    const started = performance.now();
    this.#open.add(socket);
    joinStreams(stream, socket, idleMs, (reason) => {
      this.#open.delete(socket);
      const { bytesWritten: written, bytesRead: read } = socket;
      this.#written += written;
      this.#read += read;
      onOver({ reason, written, read, seconds: (performance.now() - started) / 1_000 });
    });
  }
}

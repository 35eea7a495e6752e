import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { duplicateDescriptor } from '@sheaf/native';
import { formatAddress } from '../values/listen_error.js';
import type { ListenAddress } from '../values/scalars.js';
import { longestTimerMs } from '../values/timers.js';
import type { HeldPort } from './held_port.js';

/** Connections of programs at one port */
const mostConnections = 1_024;

/** A port of TCP for programs of this machine */
export class LocalListener {
  readonly #server: Server;
  readonly #about: { kind: 'socks5' | 'http' | 'tcp'; to?: string };
  readonly #sockets = new Set<Socket>();
  #address: ListenAddress | undefined;
  #refused = 0;
  /** Resolves when all connections are over. */
  #closed: Promise<unknown> = Promise.resolve();

  /** `server` reads the sockets; both directions of them end by themselves (`allowHalfOpen`). */
  constructor(server: Server, about: { kind: 'socks5' | 'http' | 'tcp'; to?: string }) {
    this.#server = server;
    this.#about = about;
    server.maxConnections = mostConnections;
    server.on('drop', () => this.noteRefused());
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Accepts the connections of a port. Rejects with the system's error. */
  async listen({ address, descriptor }: HeldPort): Promise<void> {
    this.#server.listen({ fd: duplicateDescriptor(descriptor) });
    await once(this.#server, 'listening');
    // The system has no room for another connection.
    this.#server.on('error', () => this.noteRefused());
    this.#closed = new Promise((resolve) => this.#server.once('close', resolve));
    this.#address = address;
  }

  /** Counts a connection that said nothing sensible. */
  noteRefused(): void {
    this.#refused += 1;
  }

  get status() {
    const listen = this.#address ? formatAddress(this.#address) : '';
    return { ...this.#about, listen, open: this.#sockets.size, refused: this.#refused };
  }

  stopAccepting(): void {
    if (this.#server.listening) this.#server.close();
  }

  /** Accepts no more connections, and resolves when all are over, after `drainMs` at the latest. */
  async close(drainMs: number): Promise<void> {
    this.stopAccepting();
    const timer = setTimeout(
      () => this.#sockets.forEach((socket) => socket.destroy()),
      Math.min(drainMs, longestTimerMs),
    );
    await this.#closed;
    clearTimeout(timer);
  }
}

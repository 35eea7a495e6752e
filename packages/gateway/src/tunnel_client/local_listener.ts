import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { formatAddress } from '../values/listen_error.js';
import type { ListenAddress } from '../values/scalars.js';

/** Connections of programs at one port */
const mostConnections = 1_024;

/** A port of TCP for programs of this machine */
export class LocalListener {
  readonly #server: Server;
  readonly #about: { kind: 'socks5' | 'http' | 'tcp'; to?: string };
  readonly #sockets = new Set<Socket>();
  #address: ListenAddress | undefined;
  #refused = 0;

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

  /** Binds the port. Rejects with the system's error. */
  async listen({ address, port }: ListenAddress): Promise<ListenAddress> {
    this.#server.listen({ host: address, port });
    await once(this.#server, 'listening');
    // The system has no room for another connection.
    this.#server.on('error', () => this.noteRefused());
    this.#address = { address, port: (this.#server.address() as AddressInfo).port };
    return this.#address;
  }

  /** Counts a connection that said nothing sensible. */
  noteRefused(): void {
    this.#refused += 1;
  }

  get status() {
    const listen = this.#address ? formatAddress(this.#address) : '';
    return { ...this.#about, listen, open: this.#sockets.size, refused: this.#refused };
  }

  /** Accepts no more connections, and resolves when all are over, after `drainMs` at the latest. */
  async close(drainMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    const timer = setTimeout(() => this.#sockets.forEach((socket) => socket.destroy()), drainMs);
    await closed;
    clearTimeout(timer);
  }
}

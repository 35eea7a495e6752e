import type { Socket } from 'node:net';
import type { Networks } from '../values/networks.js';
import { decodeProxyHeader } from './proxy_header.js';

/** Addresses and ports that identify an open connection of a listener, both at TCP and at TLS */
type Ends = Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>;

/**
 * Reads the PROXY protocol's header from connections of trusted balancers, before TLS. All their connections must have
 * one: if it were optional, clients could send their own.
 */
export class ProxyProtocol {
  readonly #balancers: Networks;
  readonly #headerTimeoutMs: number;
  /** Clients of open connections */
  readonly #clients = new Map<string, string>();

  constructor(balancers: Networks, headerTimeoutMs: number) {
    this.#balancers = balancers;
    this.#headerTimeoutMs = headerTimeoutMs;
  }

  /** Calls `begin` once the client is known. If the header is wrong or late, closes the connection instead. */
  admit(socket: Socket, begin: () => void): void {
    if (!this.#balancers.has(socket.remoteAddress ?? '')) {
      begin();
      return;
    }
    const timeout = setTimeout(() => socket.destroy(), this.#headerTimeoutMs).unref();
    let received = Buffer.alloc(0);
    const onReadable = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (!chunk) return;
      received = Buffer.concat([received, chunk]);
      const header = decodeProxyHeader(received);
      if (!header) return;
      clearTimeout(timeout);
      socket.off('readable', onReadable).off('end', onEnd);
      if (header === 'invalid') {
        socket.destroy();
        return;
      }
      this.#remember(socket, header.source);
      if (received.length > header.length) socket.unshift(received.subarray(header.length));
      begin();
    };
    const onEnd = (): unknown => socket.destroy();
    socket.on('readable', onReadable).once('end', onEnd);
    socket.once('close', () => clearTimeout(timeout));
  }

  /** Returns the address that the balancer reported; undefined for connections that came without a balancer. */
  clientOf(socket: Ends): string | undefined {
    return this.#clients.size === 0 ? undefined : this.#clients.get(keyOf(socket));
  }

  #remember(socket: Socket, client: string | undefined): void {
    if (client === undefined) return;
    const key = keyOf(socket);
    this.#clients.set(key, client);
    socket.once('close', () => this.#clients.delete(key));
  }
}

function keyOf({ localAddress, localPort, remoteAddress, remotePort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

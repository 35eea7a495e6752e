import { createSocket, type Socket, type SocketOptions } from 'node:dgram';
import { once } from 'node:events';
import { isIP, isIPv6 } from 'node:net';
import { duplicateDescriptor, type Http3Client, type SocketAddress, type TunnelPort } from '@sheaf/native';
import type { ListenAddress } from '../values/scalars.js';
import type { ProxyConnection } from './tcp_tunnels.js';

/** Interval in milliseconds at which a port is tried that another program has */
const retryMs = 1_000;

export interface MovingPortOptions {
  gateway: ProxyConnection;
  /** Port 0 takes a free one. */
  local: ListenAddress;
  /** Descriptor of a socket that is bound there. Default: the port opens one. */
  bound?: number;
  /** Opens the port over a connection. @throws Error with the system's `code`, such as `EADDRINUSE` */
  open(client: Http3Client, local: SocketAddress): TunnelPort;
  /** The port could not be opened over a connection, and is tried again. */
  onTrouble(error: unknown): void;
}

/**
 * A local port of UDP whose flows go on over one connection to the gateway after another. Between two of them a socket holds it:
 * packets are dropped, as a network does, while an ICMP message from a closed port would end connections of programs.
 */
export class MovingPort {
  readonly #options: MovingPortOptions;
  #local: SocketAddress;
  #port: TunnelPort | undefined;
  #holder: Socket | undefined;
  /** Forgets the connection that has the port. */
  #forget = (): void => undefined;
  /** Ends the wait for the end of a connection. */
  #stopWaiting = (): void => undefined;
  #closed = false;

  constructor(options: MovingPortOptions) {
    this.#options = options;
    this.#local = { ...options.local, family: isIPv6(options.local.address) ? 'IPv6' : 'IPv4' };
  }

  get address(): SocketAddress {
    return this.#local;
  }

  /** Tunnels that are open now; undefined while no connection carries any */
  get tunnels(): number | undefined {
    return this.#port?.tunnels;
  }

  /** Takes the port without a connection. Rejects with the system's error. */
  async hold(): Promise<void> {
    const { address, port } = this.#local;
    const holder = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', lookup: atOnce });
    this.#holder = holder;
    // `bound` has errors of the bind. Later ones say that a packet did not leave, and this socket sends none.
    holder.on('error', () => undefined);
    const bound = once(holder, 'listening');
    const { bound: descriptor } = this.#options;
    if (descriptor === undefined) holder.bind({ address, port, exclusive: true });
    else holder.bind({ fd: duplicateDescriptor(descriptor) });
    await bound;
    if (this.#holder === holder) this.#local = { ...this.#local, port: holder.address().port };
  }

  /** Opens the port over a connection, in place of what had it before. @throws as `open` of the options */
  open(client: Http3Client): void {
    this.#release();
    const port = this.#options.open(client, this.#local);
    this.#port = port;
    this.#local = port.address;
    const onClose = (): void => this.#holdAgain();
    client.once('close', onClose);
    this.#forget = () => void client.off('close', onClose);
  }

  /** Keeps the port open over one connection after another until `close`. `client`: the one that has it already. Never rejects. */
  async follow(client?: Http3Client): Promise<void> {
    const { gateway } = this.#options;
    let current = client;
    while (!this.#closed && !gateway.closed) {
      // The connection before keeps the port until another one is open. A failed attempt has its pause in `open`.
      if (current) await this.#leftBy(current);
      current = await gateway.open().catch(() => undefined);
      // What waits for longer than an attempt is of no use any more.
      if (!current && !this.#port && !this.#holder) this.#holdAgain();
      if (current && !this.#closed && !(await this.#moveTo(current))) current = undefined;
    }
  }

  /** Leaves the port to another process. Tunnels that are open go on. */
  leave(): void {
    this.#port?.leave();
    this.close();
  }

  close(): void {
    this.#closed = true;
    this.#stopWaiting();
    this.#release();
  }

  /** Resolves once new requests go to another connection than this one, or the port is closed. */
  async #leftBy(client: Http3Client): Promise<void> {
    let end = (): void => undefined;
    await new Promise<void>((resolve) => {
      this.#stopWaiting = resolve;
      end = this.#options.gateway.onLeft(client, resolve);
    });
    end();
  }

  async #moveTo(client: Http3Client): Promise<boolean> {
    try {
      this.open(client);
      return true;
    } catch (error) {
      this.#holdAgain();
      this.#options.onTrouble(error);
      await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      return false;
    }
  }

  #release(): void {
    this.#forget();
    this.#port?.close();
    this.#holder?.close();
    this.#port = this.#holder = undefined;
  }

  #holdAgain(): void {
    this.#release();
    // Another program may have it now: the next connection tells.
    if (!this.#closed) this.hold().catch(() => undefined);
  }
}

/** Names an address for itself. So a socket is bound before `bind` returns, and nobody finds the port closed meanwhile. */
const atOnce: NonNullable<SocketOptions['lookup']> = (address, _options, callback) =>
  callback(null, address, isIP(address));

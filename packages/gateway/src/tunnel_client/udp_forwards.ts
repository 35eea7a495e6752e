import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { Http3Client, TunnelPort } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import type { Target } from '../tunnels/target_rules.js';
import { formatAddress } from '../values/listen_error.js';
import type { ListenAddress } from '../values/scalars.js';
import type { UdpTunnels } from './udp_tunnels.js';

/** A port of UDP that leads to one target */
interface Forward {
  listen: ListenAddress;
  target: Target;
  port?: TunnelPort | undefined;
  /** Why it is closed */
  reason?: string | undefined;
  refused: number;
}

/** Interval in milliseconds at which a port is tried that another program has */
const retryMs = 1_000;

/** Ports of UDP whose peers get a tunnel each. They are open while the connection to the gateway is. */
export class UdpForwards {
  readonly #tunnels: UdpTunnels;
  readonly #log: Logger;
  readonly #forwards: Forward[] = [];
  #closed = false;

  constructor(tunnels: UdpTunnels, log: Logger) {
    this.#tunnels = tunnels;
    this.#log = log;
  }

  /** Adds a port, which `run` opens. Rejects with the system's error when it is not available. */
  async add(listen: ListenAddress, target: Target): Promise<ListenAddress> {
    const free = await tryPort(listen);
    this.#forwards.push({ listen: free, target, refused: 0 });
    return free;
  }

  /** Keeps the ports open over one connection after another until `close`. */
  async run(): Promise<void> {
    const { gateway } = this.#tunnels;
    while (!this.#closed && this.#forwards.length > 0) {
      // A failed attempt has its pause in `open`.
      const client = await gateway.open().catch(() => undefined);
      if (client && !this.#closed) await this.#serve(client);
    }
  }

  get listeners() {
    return this.#forwards.map(({ listen, target, port, reason, refused }) => ({
      kind: 'udp' as const,
      listen: formatAddress(listen),
      to: formatAddress({ address: target.host, port: target.port }),
      ...(reason !== undefined && { reason }),
      open: port?.tunnels ?? 0,
      refused,
    }));
  }

  close(): void {
    this.#closed = true;
  }

  /** Opens the ports over a connection, and resolves when it is over. */
  async #serve(client: Http3Client): Promise<void> {
    const over = once(client, 'close');
    this.#openPorts(client);
    const timer = setInterval(() => this.#openPorts(client), retryMs).unref();
    await over;
    clearInterval(timer);
    for (const forward of this.#forwards) {
      forward.port = undefined;
      forward.reason = 'no connection to the gateway';
    }
  }

  #openPorts(client: Http3Client): void {
    for (const forward of this.#forwards) {
      if (forward.port) continue;
      const { listen, target } = forward;
      try {
        forward.port = client.openTunnelPort({
          ...this.#tunnels.portOptions(client, 'udp', () => (forward.refused += 1)),
          local: { ...listen, family: isIPv6(listen.address) ? 'IPv6' : 'IPv4' },
          path: this.#tunnels.pathTo(target.host, target.port),
        });
        forward.reason = undefined;
      } catch (error) {
        const reason = errorMessage(error);
        if (forward.reason !== reason)
          this.#log.warn({ listen: formatAddress(listen), reason }, 'a port of UDP is closed');
        forward.reason = reason;
      }
    }
  }
}

/** Returns the address with a port that is free now. Rejects with the system's error. */
async function tryPort({ address, port }: ListenAddress): Promise<ListenAddress> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    socket.bind({ address, port, exclusive: true });
    await once(socket, 'listening');
    return { address, port: socket.address().port };
  } finally {
    socket.close();
  }
}

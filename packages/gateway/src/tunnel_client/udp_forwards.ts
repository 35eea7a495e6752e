import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import {
  tunnelDropReasons,
  type Http3Client,
  type TunnelCounts,
  type TunnelOver,
  type TunnelPort,
  type TunnelRefusal,
} from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import { formatAddress } from '../values/listen_error.js';
import type { ListenAddress } from '../values/scalars.js';
import type { Target } from '../tunnels/target_rules.js';
import { lostConnection } from '../http/proxied_request.js';
import { parseProxyTemplate } from './proxy_template.js';
import { gatewayLost, refusalOf } from './refused.js';
import type { ProxyConnection } from './tcp_tunnels.js';

/** A port of UDP that leads to one target */
interface Forward {
  listen: ListenAddress;
  target: Target;
  port?: TunnelPort | undefined;
  /** Why it is closed */
  reason?: string | undefined;
  refused: number;
}

export interface UdpForwardsOptions {
  gateway: ProxyConnection;
  /** Fields of each request, with credentials */
  headers: Readonly<Record<string, string>>;
  log: Logger;
}

/** Where gateways have tunnels for UDP (RFC 9298 §2); its host is not used. */
const template = parseProxyTemplate('https://gateway.invalid');

/** Interval in milliseconds at which a port is tried that another program has */
const retryMs = 1_000;

const nothing: TunnelCounts = {
  packetsToTarget: 0,
  bytesToTarget: 0,
  packetsToClient: 0,
  bytesToClient: 0,
  drops: Object.fromEntries(tunnelDropReasons.map((reason) => [reason, 0])) as TunnelCounts['drops'],
};

/** Ports of UDP whose peers get a tunnel each. They are open while the connection to the gateway is. */
export class UdpForwards {
  readonly #options: UdpForwardsOptions;
  readonly #forwards: Forward[] = [];
  readonly #refusals = new Map<number, number>();
  /** Tunnels that are over */
  #over = 0;
  /** Counts of connections that are over */
  #before = nothing;
  #client: Http3Client | undefined;
  #closed = false;

  constructor(options: UdpForwardsOptions) {
    this.#options = options;
  }

  /** Adds a port, which `run` opens. Rejects with the system's error when it is not available. */
  async add(listen: ListenAddress, target: Target): Promise<ListenAddress> {
    const free = await tryPort(listen);
    this.#forwards.push({ listen: free, target, refused: 0 });
    return free;
  }

  /** Keeps the ports open over one connection after another until `close`. */
  async run(): Promise<void> {
    const { gateway } = this.#options;
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

  /** All tunnels so far. What a proxy calls the target is the program here. */
  get totals() {
    const now = this.#client?.tunnels();
    const { bytesToClient, bytesToTarget, packetsToClient, packetsToTarget, drops } = now
      ? sum(this.#before, now)
      : this.#before;
    const open = this.#forwards.reduce((total, { port }) => total + (port?.tunnels ?? 0), 0);
    return {
      open,
      waitingBytes: now?.waitingBytes ?? 0,
      packetsToTarget: packetsToClient,
      bytesToTarget: bytesToClient,
      packetsToClient: packetsToTarget,
      bytesToClient: bytesToTarget,
      drops,
      answers: { 200: this.#over + open, ...Object.fromEntries(this.#refusals) },
    };
  }

  close(): void {
    this.#closed = true;
  }

  /** Opens the ports over a connection, and resolves when it is over. */
  async #serve(client: Http3Client): Promise<void> {
    this.#client = client;
    const over = once(client, 'close');
    this.#openPorts(client);
    const timer = setInterval(() => this.#openPorts(client), retryMs).unref();
    await over;
    clearInterval(timer);
    this.#before = sum(this.#before, client.tunnels());
    this.#client = undefined;
    for (const forward of this.#forwards) {
      this.#over += forward.port?.tunnels ?? 0;
      forward.port = undefined;
      forward.reason = 'no connection to the gateway';
    }
  }

  #openPorts(client: Http3Client): void {
    const { headers, log } = this.#options;
    for (const forward of this.#forwards) {
      if (forward.port) continue;
      const { listen, target } = forward;
      try {
        forward.port = client.openTunnelPort({
          local: { ...listen, family: isIPv6(listen.address) ? 'IPv6' : 'IPv4' },
          path: template.pathTo(target.host, target.port),
          headers,
          onOver: (over) => this.#onOver(forward, over),
          onRefused: (refusal) => this.#onRefused(forward, client, refusal),
        });
        forward.reason = undefined;
      } catch (error) {
        const reason = errorMessage(error);
        if (forward.reason !== reason) log.warn({ listen: formatAddress(listen), reason }, 'a port of UDP is closed');
        forward.reason = reason;
      }
    }
  }

  #onOver({ target }: Forward, { reason, bytesToClient, bytesToTarget }: TunnelOver): void {
    this.#over += 1;
    const ended = { reason, bytesToTarget: bytesToClient, bytesToClient: bytesToTarget };
    this.#options.log.info({ ...about(target), ...ended }, 'tunnel ended');
  }

  #onRefused(forward: Forward, client: Http3Client, { status, proxyStatus, error }: TunnelRefusal): void {
    const refusal = status === undefined ? gatewayLost(errorMessage(error), false) : refusalOf(status, proxyStatus);
    if (error && lostConnection(error)) this.#options.gateway.retire(client);
    forward.refused += 1;
    this.#refusals.set(refusal.status, (this.#refusals.get(refusal.status) ?? 0) + 1);
    const refused = { status: refusal.status, error: refusal.message };
    this.#options.log.info({ ...about(forward.target), ...refused }, 'tunnel refused');
  }
}

const about = ({ host, port }: Target) => ({ target: formatAddress({ address: host, port }), program: 'udp' });

function sum(one: TunnelCounts, other: TunnelCounts): TunnelCounts {
  return {
    packetsToTarget: one.packetsToTarget + other.packetsToTarget,
    bytesToTarget: one.bytesToTarget + other.bytesToTarget,
    packetsToClient: one.packetsToClient + other.packetsToClient,
    bytesToClient: one.bytesToClient + other.bytesToClient,
    drops: Object.fromEntries(
      tunnelDropReasons.map((reason) => [reason, one.drops[reason] + other.drops[reason]]),
    ) as TunnelCounts['drops'],
  };
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

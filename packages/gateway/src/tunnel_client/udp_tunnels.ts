import {
  tunnelDropReasons,
  type Http3Client,
  type LocalTunnelOptions,
  type TunnelCounts,
  type TunnelOver,
  type TunnelRefusal,
} from '@sheaf/native';
import type { Logger } from 'pino';
import { StatusCounts } from '../tunnels/status_counts.js';
import { errorMessage } from '../errors/user_error.js';
import { lostConnection } from '../http/proxied_request.js';
import { parseProxyTemplate } from './proxy_template.js';
import { gatewayLost, refusalOf } from './refused.js';
import type { ProxyConnection } from './tcp_tunnels.js';

export interface UdpTunnelsOptions {
  gateway: ProxyConnection;
  /** Fields of each request, with credentials */
  headers: Readonly<Record<string, string>>;
  log: Logger;
}

/** Where gateways have tunnels for UDP (RFC 9298 §2); its host is not used. */
const template = parseProxyTemplate('https://gateway.invalid');

const nothing: TunnelCounts = {
  packetsToTarget: 0,
  bytesToTarget: 0,
  packetsToClient: 0,
  bytesToClient: 0,
  packetsRepeated: 0,
  packetsMarked: 0,
  drops: Object.fromEntries(tunnelDropReasons.map((reason) => [reason, 0])) as TunnelCounts['drops'],
};

/** What all tunnels for UDP through a gateway have in common, whichever local port they belong to */
export class UdpTunnels {
  readonly gateway: ProxyConnection;
  readonly #options: UdpTunnelsOptions;
  readonly #clients = new Set<Http3Client>();
  readonly #answers = new StatusCounts();
  /** Counts of connections that are over */
  #before = nothing;

  constructor(options: UdpTunnelsOptions) {
    this.#options = options;
    this.gateway = options.gateway;
  }

  /** Counts the tunnels of a connection that was opened. */
  watch(client: Http3Client): void {
    this.#clients.add(client);
    client.once('close', () => {
      this.#before = sum(this.#before, client.tunnels());
      this.#clients.delete(client);
    });
  }

  /** All tunnels so far. What a proxy calls the target is the program here. */
  get totals() {
    const now = [...this.#clients].map((client) => client.tunnels());
    const sums = now.reduce(sum, this.#before);
    // That of the newest connection which has one
    const responseMs = now.reduce<number | undefined>((latest, each) => each.responseMs ?? latest, undefined);
    const { bytesToClient, bytesToTarget, packetsToClient, packetsToTarget, packetsRepeated, packetsMarked, drops } =
      sums;
    return {
      open: now.reduce((total, { open }) => total + open, 0),
      waitingBytes: now.reduce((total, each) => total + each.waitingBytes, 0),
      ...(responseMs !== undefined && { responseMs }),
      packetsToTarget: packetsToClient,
      bytesToTarget: bytesToClient,
      packetsToClient: packetsToTarget,
      bytesToClient: bytesToTarget,
      packetsRepeated,
      packetsMarked,
      drops,
      answers: this.#answers.all,
    };
  }

  /** Returns the path of the request for a target. */
  pathTo(host: string, port: number): string {
    return template.pathTo(host, port);
  }

  /** Returns the options of a local port of this connection. `onRefused` hears of peers that get no tunnel. */
  portOptions(
    client: Http3Client,
    program: string,
    onRefused: () => void,
  ): Pick<LocalTunnelOptions, 'headers' | 'onOpened' | 'onOver' | 'onRefused'> {
    return {
      headers: this.#options.headers,
      onOpened: () => this.#answers.note(200),
      onOver: (over) => this.#onOver(program, over),
      onRefused: (refusal) => {
        onRefused();
        this.#onRefused(program, client, refusal);
      },
    };
  }

  #onOver(program: string, { reason, bytesToClient, bytesToTarget }: TunnelOver): void {
    this.#options.log.info(
      { program, reason, bytesToTarget: bytesToClient, bytesToClient: bytesToTarget },
      'tunnel ended',
    );
  }

  #onRefused(program: string, client: Http3Client, { path, status, proxyStatus, error }: TunnelRefusal): void {
    const refusal = status === undefined ? gatewayLost(errorMessage(error), false) : refusalOf(status, proxyStatus);
    if (refusal.why === 'draining' || (error && lostConnection(error))) this.gateway.retire(client);
    this.#answers.note(refusal.status);
    this.#options.log.info({ path, program, status: refusal.status, error: refusal.message }, 'tunnel refused');
  }
}

function sum(one: TunnelCounts, other: TunnelCounts): TunnelCounts {
  return {
    packetsToTarget: one.packetsToTarget + other.packetsToTarget,
    bytesToTarget: one.bytesToTarget + other.bytesToTarget,
    packetsToClient: one.packetsToClient + other.packetsToClient,
    bytesToClient: one.bytesToClient + other.bytesToClient,
    packetsRepeated: one.packetsRepeated + other.packetsRepeated,
    packetsMarked: one.packetsMarked + other.packetsMarked,
    drops: Object.fromEntries(
      tunnelDropReasons.map((reason) => [reason, one.drops[reason] + other.drops[reason]]),
    ) as TunnelCounts['drops'],
  };
}

import { createHash } from 'node:crypto';
import type { Http3Server, NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import type { StreamTaker } from '../http/taken_stream.js';
import type { ConnectHandler } from '../listeners/quic_listener.js';
import type { TcpTunnelStatus, TunnelStatus } from '../observability/status.js';
import { hasTunnels, type RouteOptions } from '../schema/routes.js';
import { accessParts, type AccessParts } from '../tunnels/access.js';
import { ConnectServer } from '../tunnels/connect_server.js';
import { resolveByDns } from '../tunnels/target_addresses.js';
import {
  byTemplate,
  connectOverHttp3,
  connectOverStream,
  tunnelOverHttp3,
  tunnelOverStream,
  type AskedTunnel,
} from '../tunnels/tunnel_request.js';
import { TunnelServer } from '../tunnels/tunnel_server.js';
import { canonicalText } from '../values/canonical.js';
import type { Counts } from '../values/counts.js';
import { readSmallFile } from '../values/regular_file.js';
import type { CongestionName } from '../values/transport_names.js';

/** `:protocol` of requests for UDP proxying (RFC 9298 §3.4) */
const udpProtocol = 'connect-udp';
/** That of requests for TCP by a template, and the one for tests of the draft (draft-ietf-httpbis-connect-tcp-14 §8.1) */
const tcpProtocols = ['connect-tcp', 'connect-tcp-12'];

/**
 * Bytes that a target may leave unread of a tunnel whose stream has just begun. Windows grow only as targets take bytes. So one client
 * needs many targets that read nothing before other tunnels of its connection have no credit.
 */
const tcpStreamWindow = 32 * 1024;

export interface TunnelsOptions {
  routes: readonly RouteOptions[];
  module: NativeModule;
  /** Carries tunnels for UDP. */
  quic: () => Http3Server | undefined;
  /** Congestion controller of clients' connections */
  congestion: CongestionName;
  /** Whether the gateway stops */
  isDraining: () => boolean;
  log: Logger;
  /** Returns counts of a name, which the workers of the node have together; absent: it has none. */
  counts?: ((name: string) => Counts) | undefined;
  /** Tunnels that these follow, whose counts go on */
  before?: Tunnels | undefined;
}

/** Returns a text that changes with the routes of tunnels, and with the files of their users. */
async function rulesOf(routes: readonly RouteOptions[]): Promise<string> {
  const own = routes.filter(hasTunnels);
  const files = own.flatMap(({ connect, connect_tcp: tcp, connect_udp: udp }) => (connect ?? tcp ?? udp)?.users ?? []);
  // The server of the route says what is wrong with a file.
  const digest = async (file: string): Promise<string> =>
    createHash('sha256')
      .update(await readSmallFile(file).catch(() => ''))
      .digest('hex');
  return canonicalText([own, await Promise.all(files.map(digest))]);
}

interface OpenedTunnels {
  rules: string;
  parts: AccessParts;
  udp: TunnelServer | undefined;
  tcp: ConnectServer | undefined;
}

/** The tunnels of a gateway, for UDP and for TCP */
export class Tunnels {
  /** Equal for tunnels with the same routes and users */
  readonly rules: string;
  readonly #options: Pick<TunnelsOptions, 'quic' | 'module' | 'log'>;
  readonly #parts: AccessParts;
  readonly #udp: TunnelServer | undefined;
  readonly #tcp: ConnectServer | undefined;

  /** Returns undefined without a route for tunnels. @throws UserError when the users of a route cannot be read */
  static async open(options: TunnelsOptions): Promise<Tunnels | undefined> {
    const { routes, congestion, log, before, isDraining, counts } = options;
    // A server that follows reports leaves a short queue at the tunnel. Controllers that look for losses need a long one.
    const reports = congestion === 'bbr';
    const parts = before ? before.#parts : accessParts(resolveByDns(), { isDraining, ...(counts && { counts }) });
    // Read before the users: a file that changes meanwhile differs at the next reload.
    const rules = await rulesOf(routes);
    const tcp = await ConnectServer.open({ routes, parts, log, before: before && before.#tcp });
    const hasUdp = routes.some((route) => route.connect_udp !== undefined);
    const udp = hasUdp
      ? await TunnelServer.open({ routes, reports, parts, log, before: before && before.#udp })
      : undefined;
    return tcp || udp ? new Tunnels(options, { rules, parts, udp, tcp }) : undefined;
  }

  private constructor({ quic, module, log }: TunnelsOptions, { rules, parts, udp, tcp }: OpenedTunnels) {
    this.#options = { quic, module, log };
    this.rules = rules;
    this.#parts = parts;
    this.#udp = udp;
    this.#tcp = tcp;
  }

  /** Returns what answers CONNECT over HTTP/3, by `:protocol`. */
  get connects(): Map<string | undefined, ConnectHandler> {
    const { module } = this.#options;
    const [udp, tcp] = [this.#udp, this.#tcp];
    const connects = new Map<string | undefined, ConnectHandler>();
    if (udp)
      connects.set(udpProtocol, (request, response) => this.#answer(udp, tunnelOverHttp3(module, request, response)));
    if (tcp?.kinds.classic)
      connects.set(undefined, (request, response) => this.#answer(tcp, connectOverHttp3(request, response)));
    for (const protocol of tcp?.kinds.templates ? tcpProtocols : []) {
      connects.set(protocol, (request, response) =>
        this.#answer(tcp!, byTemplate(connectOverHttp3(request, response), request.url, request.authority)),
      );
    }
    return connects;
  }

  /** Returns the same for HTTP/2 and HTTP/1.1. */
  get takers(): Map<string | undefined, StreamTaker> {
    const [udp, tcp] = [this.#udp, this.#tcp];
    const takers = new Map<string | undefined, StreamTaker>();
    if (udp) takers.set(udpProtocol, (stream) => this.#answer(udp, tunnelOverStream(stream, this.#options.quic)));
    if (tcp?.kinds.classic) takers.set(undefined, (stream) => this.#answer(tcp, connectOverStream(stream)));
    for (const protocol of tcp?.kinds.templates ? tcpProtocols : []) {
      takers.set(protocol, (stream) =>
        this.#answer(tcp!, byTemplate(connectOverStream(stream), stream.request.url, stream.request.authority)),
      );
    }
    return takers;
  }

  /** Returns the window with which streams of clients begin; undefined without tunnels for TCP. */
  get initialStreamWindow(): number | undefined {
    return this.#tcp && tcpStreamWindow;
  }

  get hasUdp(): boolean {
    return this.#udp !== undefined;
  }
  get hasTcp(): boolean {
    return this.#tcp !== undefined;
  }

  get udpStatus(): TunnelStatus | undefined {
    const totals = this.#options.quic()?.tunnels();
    return this.#udp && totals && { ...totals, answers: this.#udp.answers };
  }

  get tcpStatus(): TcpTunnelStatus | undefined {
    return this.#tcp?.totals;
  }

  /** Breaks off the tunnels that are left once the listeners are closed. */
  close(): void {
    this.#tcp?.close();
  }

  #answer<Request extends AskedTunnel>(server: { answer(request: Request): Promise<void> }, request: Request): void {
    server.answer(request).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'tunnel failed');
      request.abandon();
    });
  }
}

import type { Registry } from 'prom-client';
import type { StreamTaker, StreamTakers } from '../http/taken_stream.js';
import type { ConnectHandler } from '../listeners/quic_listener.js';
import type { TcpTunnelStatus, TunnelStatus } from '../observability/status.js';
import { tcpTunnelMetrics, tunnelMetrics } from '../observability/tunnel_metrics.js';
import type { Prepared } from './life/reload.js';
import type { Tunnels } from './tunnels.js';

/** The tunnels of a gateway by its present configuration. Tunnels that are open stay when a reload changes it. */
export class CurrentTunnels {
  readonly #registry: Registry;
  /** Kinds of tunnels that have metrics */
  readonly #measured = new Set<'udp' | 'tcp'>();
  #current: Tunnels | undefined;
  /** Tunnels for TCP which no later ones went on with, and which may still be open */
  readonly #left = new Set<Tunnels>();
  #connects: ReadonlyMap<string | undefined, ConnectHandler> = new Map();
  #takers: ReadonlyMap<string | undefined, StreamTaker> = new Map();

  constructor(registry: Registry, tunnels: Tunnels | undefined) {
    this.#registry = registry;
    this.#use(tunnels);
  }

  /** Bytes of a stream that the listener of QUIC takes unasked, as it opens; a reload does not change them. */
  get initialStreamWindow(): number | undefined {
    return this.#current?.initialStreamWindow;
  }

  /** Breaks off what is left of tunnels. */
  close(): void {
    for (const each of [...this.#left, this.#current]) each?.close();
  }

  /** Returns what answers CONNECT over HTTP/3 with this `:protocol`. */
  connect(protocol: string | undefined): ConnectHandler | undefined {
    return this.#connects.get(protocol);
  }

  /** Answer the same over HTTP/2 and HTTP/1.1. */
  get takers(): StreamTakers {
    const current = (): ReadonlyMap<string | undefined, StreamTaker> => this.#takers;
    return {
      get: (protocol) => current().get(protocol),
      has: (protocol) => current().has(protocol),
      get size() {
        return current().size;
      },
    };
  }

  status(): { udp: TunnelStatus | undefined; tcp: TcpTunnelStatus | undefined } {
    return { udp: this.#current?.udpStatus, tcp: this.#current?.tcpStatus };
  }

  /** Opens tunnels for other routes. Where routes and users stay, so do the tunnels, with their places. @throws UserError */
  async prepare(open: (before: Tunnels | undefined) => Promise<Tunnels | undefined>): Promise<Prepared> {
    const before = this.#current;
    const opened = await open(before);
    return {
      warnings: [],
      commit: () => {
        if (opened?.rules !== before?.rules) this.#use(opened);
      },
      abandon: () => Promise.resolve(),
    };
  }

  #use(tunnels: Tunnels | undefined): void {
    if (this.#current?.hasTcp && !tunnels?.hasTcp) this.#left.add(this.#current);
    this.#current = tunnels;
    this.#connects = tunnels?.connects ?? new Map();
    this.#takers = tunnels?.takers ?? new Map();
    this.#measure('udp', tunnels?.hasUdp, () => tunnelMetrics(this.#registry, () => this.status().udp));
    this.#measure('tcp', tunnels?.hasTcp, () => tcpTunnelMetrics(this.#registry, () => this.status().tcp));
  }

  #measure(kind: 'udp' | 'tcp', has: boolean | undefined, register: () => void): void {
    if (has !== true || this.#measured.has(kind)) return;
    this.#measured.add(kind);
    register();
  }
}

import { EventKind, type NativeEndpoint, type NativeEvent } from './addon.js';
import type { SocketAddress } from './address.js';
import { headBody } from './engine_body.js';
import { IncomingBody } from './http3_body.js';
import { carriageOptions, tunnelInfoHeader, tunnelOver } from './tunnel.js';
import type { TunnelPort, TunnelPortOptions } from './tunnel_types.js';
import type { ClientRequestOptions, ReceivedResponse } from './types.js';

type Request = (options: ClientRequestOptions) => Promise<ReceivedResponse>;

/** A local port of which each peer has a tunnel through a proxy for UDP (RFC 9298). Packets are carried natively. */
class Port implements TunnelPort {
  /** Ends the requests of open tunnels, by their streams. */
  private readonly open = new Map<number, () => void>();

  constructor(
    readonly address: SocketAddress,
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    private readonly number: number,
    private readonly request: Request,
    private readonly options: TunnelPortOptions,
  ) {}

  get tunnels(): number {
    return this.open.size;
  }

  onPeer(peer: number): void {
    this.openTunnel(peer).catch((error: unknown) => {
      this.endpoint.refuseTunnelPeer(this.connection, this.number, peer);
      this.options.onRefused?.({ error: error instanceof Error ? error : new Error(String(error)) });
    });
  }

  /** Whether this port has the tunnel. */
  onOver(stream: number, reason: number, code: number, counts: readonly number[]): boolean {
    const end = this.open.get(stream);
    if (!end) return false;
    this.open.delete(stream);
    end();
    this.options.onOver?.(tunnelOver(reason, code, counts));
    return true;
  }

  onReport(stream: number, report: Uint8Array): void {
    if (this.open.has(stream)) this.options.onReport?.(report);
  }

  private async openTunnel(peer: number): Promise<void> {
    const { path, authority, headers, onReport } = this.options;
    const { body, end } = headBody();
    let response: ReceivedResponse | undefined;
    let isOpen = false;
    try {
      response = await this.request({
        method: 'CONNECT',
        protocol: 'connect-udp',
        path,
        ...(authority !== undefined && { authority }),
        headers: { ...headers, 'capsule-protocol': '?1', ...(onReport && { [tunnelInfoHeader]: '?1' }) },
        body,
      });
      isOpen = this.forward(peer, response, end);
    } finally {
      if (!isOpen) {
        response?.destroy();
        end();
      }
    }
  }

  /** Gives the peer the tunnel that the proxy has opened. Returns false when it refused, or the peer is gone. */
  private forward(peer: number, response: ReceivedResponse, end: () => void): boolean {
    const { status } = response;
    if (status < 200 || status > 299 || !(response instanceof IncomingBody) || response.ended) {
      const proxyStatus = response.headers['proxy-status'];
      this.endpoint.refuseTunnelPeer(this.connection, this.number, peer);
      this.options.onRefused?.({
        status,
        proxyStatus: Array.isArray(proxyStatus) ? proxyStatus.join(', ') : proxyStatus,
      });
      return false;
    }
    const { stream } = response.location;
    const reports = this.options.onReport && response.headers[tunnelInfoHeader] === '?1' ? 'takes' : 'none';
    const carriage = carriageOptions(this.options, reports);
    if (!this.endpoint.forwardTunnelPeer(this.connection, stream, this.number, peer, carriage)) return false;
    this.open.set(stream, end);
    return true;
  }
}

const ports = new WeakMap<NativeEndpoint, Port[]>();

/** Opens a local port for tunnels of a connection. @throws Error with the system's `code`, such as `EADDRINUSE` */
export function openTunnelPort(
  { endpoint, connection }: { endpoint: NativeEndpoint; connection: number },
  request: Request,
  options: TunnelPortOptions,
): TunnelPort | undefined {
  const opened = endpoint.openTunnelPort(connection, options.local);
  if (!opened) return undefined;
  const port = new Port(opened[1], endpoint, connection, opened[0], request, options);
  const known = ports.get(endpoint) ?? [];
  ports.set(endpoint, known);
  // Their numbers are those of the engine, which counts from 0.
  known[opened[0]] = port;
  return port;
}

export const isTunnelEvent = (kind: EventKind): boolean =>
  kind === EventKind.tunnelOver || kind === EventKind.tunnelPeer || kind === EventKind.tunnelReport;

export function onTunnelEvent(endpoint: NativeEndpoint, event: NativeEvent): void {
  const known = ports.get(endpoint) ?? [];
  if (event[0] === EventKind.tunnelPeer) return known[event[2] as number]?.onPeer(event[3] as number);
  if (event[0] === EventKind.tunnelReport)
    return known.forEach((port) => port.onReport(event[2] as number, event[3] as Uint8Array));
  const [, , stream, reason, code, counts] = event as [EventKind, number, number, number, number, number[]];
  known.some((port) => port.onOver(stream, reason, code, counts));
}

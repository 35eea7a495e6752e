import { EventKind, type NativeEndpoint, type NativeEvent } from './addon.js';
import type { SocketAddress } from './address.js';
import { headBody } from './engine_body.js';
import { H3_MESSAGE_ERROR, IncomingBody } from './http3_body.js';
import { contextsField, tunnelContextsHeader, nativeContexts, readTunnelContexts } from './payload_contexts.js';
import { carriageOptions, tunnelInfoHeader, tunnelOver } from './tunnel.js';
import type { LocalTunnelOptions, TunnelPort, TunnelPortOptions, TunnelRelayOptions } from './tunnel_types.js';
import type { ClientRequestOptions, ReceivedResponse } from './types.js';

type Request = (options: ClientRequestOptions) => Promise<ReceivedResponse>;

/** Options of a port. Without a program, each peer of it has a tunnel, and `pathTo` gets no target. */
export type PortOptions = LocalTunnelOptions &
  Pick<TunnelRelayOptions, 'pathTo'> &
  Partial<Pick<TunnelRelayOptions, 'program'> & Pick<TunnelPortOptions, 'bound'>>;

/** A request for the tunnel of a peer, or of a target */
interface AnsweredRequest {
  peer: number;
  path: string;
  response: ReceivedResponse;
  end: () => void;
}

/** A local port whose flows have a tunnel each through a proxy for UDP (RFC 9298). Packets are carried natively. */
class Port implements TunnelPort {
  /** Ends the requests of open tunnels, by their streams. */
  private readonly open = new Map<number, () => void>();
  private closed = false;

  constructor(
    readonly address: SocketAddress,
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    private readonly number: number,
    private readonly request: Request,
    private readonly options: PortOptions,
  ) {}

  get tunnels(): number {
    return this.open.size;
  }

  /** Whether nothing more happens here. */
  get over(): boolean {
    return this.closed && this.open.size === 0;
  }

  close(): void {
    this.end(true);
  }

  leave(): void {
    this.end(false);
  }

  has(number: number): boolean {
    return number === this.number && !this.closed;
  }

  onPeer(peer: number, path: string): void {
    this.openTunnel(peer, path).catch((error: unknown) => {
      this.endpoint.refuseTunnelPeer(this.connection, this.number, peer);
      this.options.onRefused?.({ path, error: error instanceof Error ? error : new Error(String(error)) });
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

  pathTo(host: string, port: number): string {
    return this.options.pathTo(host, port);
  }

  onReport(stream: number, report: Uint8Array): void {
    if (this.open.has(stream)) this.options.onReport?.(report);
  }

  private end(endsTunnels: boolean): void {
    if (this.closed) return;
    this.closed = true;
    this.endpoint.closeTunnelPort(this.connection, this.number, endsTunnels);
    if (this.over) ports.get(this.endpoint)?.delete(this);
  }

  private async openTunnel(peer: number, path: string): Promise<void> {
    const { authority, headers, onReport } = this.options;
    const { body, end } = headBody();
    let response: ReceivedResponse | undefined;
    let isOpen = false;
    try {
      response = await this.request({
        method: 'CONNECT',
        protocol: 'connect-udp',
        path,
        ...(authority !== undefined && { authority }),
        headers: {
          ...headers,
          'capsule-protocol': '?1',
          ...contextsField('client'),
          ...(onReport && { [tunnelInfoHeader]: '?1' }),
        },
        body,
      });
      isOpen = this.forward({ peer, path, response, end });
    } finally {
      if (!isOpen) {
        response?.destroy();
        end();
      }
    }
  }

  /** Gives the peer the tunnel that the proxy has opened. Returns false when it refused, or the peer is gone. */
  private forward({ peer, path, response, end }: AnsweredRequest): boolean {
    const { status } = response;
    if (status < 200 || status > 299 || !(response instanceof IncomingBody) || response.ended) {
      this.endpoint.refuseTunnelPeer(this.connection, this.number, peer);
      this.options.onRefused?.({
        path,
        status,
        proxyStatus: joined(response.headers['proxy-status']),
      });
      return false;
    }
    const { stream } = response.location;
    const reports = this.options.onReport && response.headers[tunnelInfoHeader] === '?1' ? 'takes' : 'none';
    const contexts = registeredContexts(response, reports === 'takes');
    const carriage = carriageOptions(this.options, reports, nativeContexts('client', contexts));
    if (!this.endpoint.forwardTunnelPeer(this.connection, stream, this.number, peer, carriage)) {
      this.endpoint.refuseTunnelPeer(this.connection, this.number, peer);
      return false;
    }
    this.open.set(stream, end);
    this.options.onOpened?.();
    return true;
  }
}

const joined = (field: string | string[] | undefined): string | undefined =>
  Array.isArray(field) ? field.join(', ') : field;

type Answer = Pick<ReceivedResponse, 'headers'> & Pick<IncomingBody, 'location'>;

/** Returns the context ids of the proxy. Breaks a malformed response off (RFC 9114 §4.1.2), and throws. */
function registeredContexts({ headers, location }: Answer, reports: boolean): number[] | undefined {
  const contexts = readTunnelContexts(joined(headers[tunnelContextsHeader]), 'proxy', { reports });
  if (contexts !== 'malformed') return contexts;
  const { endpoint, connection, stream } = location;
  endpoint.stopReading(connection, stream, H3_MESSAGE_ERROR);
  endpoint.resetStream(connection, stream, H3_MESSAGE_ERROR);
  throw new Error('the proxy registers context ids against the rules');
}

const ports = new WeakMap<NativeEndpoint, Set<Port>>();

/** Opens a local port for tunnels of a connection. @throws Error with the system's `code`, such as `EADDRINUSE` */
export function openTunnelPort(
  { endpoint, connection }: { endpoint: NativeEndpoint; connection: number },
  request: Request,
  options: PortOptions,
): TunnelPort | undefined {
  const opened = endpoint.openTunnelPort(connection, options.local, options.program, options.bound);
  if (!opened) return undefined;
  const port = new Port(opened[1], endpoint, connection, opened[0], request, options);
  const known = ports.get(endpoint) ?? new Set();
  ports.set(endpoint, known.add(port));
  return port;
}

export const isTunnelEvent = (kind: EventKind): boolean =>
  kind === EventKind.tunnelOver || kind === EventKind.tunnelPeer || kind === EventKind.tunnelReport;

export function onTunnelEvent(endpoint: NativeEndpoint, event: NativeEvent): void {
  const known = ports.get(endpoint) ?? new Set<Port>();
  if (event[0] === EventKind.tunnelPeer) {
    const [, , number, peer, host, targetPort] = event as [EventKind, number, number, number, string, number];
    for (const port of known) if (port.has(number)) port.onPeer(peer, port.pathTo(host, targetPort));
    return;
  }
  if (event[0] === EventKind.tunnelReport) {
    for (const port of known) port.onReport(event[2] as number, event[3] as Uint8Array);
    return;
  }
  const [, , stream, reason, code, counts] = event as [EventKind, number, number, number, number, number[]];
  for (const port of known) {
    if (!port.onOver(stream, reason, code, counts)) continue;
    if (port.over) known.delete(port);
    return;
  }
}

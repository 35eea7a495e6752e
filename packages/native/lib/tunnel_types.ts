import type { Readable, Writable } from 'node:stream';
import type { SocketAddress } from './address.js';

/** Reasons for which packets of a tunnel are dropped; the order is that of `DropReason` in src/tunnel/counts.h. */
export const tunnelDropReasons = [
  'unknownContext',
  'targetTooLarge',
  'targetBlocked',
  'targetRefused',
  'clientTooLarge',
  'queueFull',
  'queueStanding',
  'clientLost',
  'overRate',
  'fragment',
  'badHeader',
  'noTunnel',
] as const;

/** Reasons for which a tunnel ends; the order is that of `TunnelOver` in src/tunnel_node/tunnel_end.h. */
export const tunnelEnds = ['client', 'connection', 'idle', 'unreachable', 'closed'] as const;

/** How packets travel to a peer with HTTP/3; the order is that of `TunnelMode` in src/tunnel/mode.h. */
export const tunnelModes = ['stream', 'stream-group', 'datagram', 'retransmit'] as const;

/** What a tunnel, or several together, did so far. */
export interface TunnelCounts {
  /** UDP packets of the client that were sent to the target */
  packetsToTarget: number;
  /** UDP payload, as in the other direction */
  bytesToTarget: number;
  /** UDP packets of the target that were sent to the client */
  packetsToClient: number;
  /** Their UDP payload */
  bytesToClient: number;
  /** Packets that were sent to the client once more, since they were lost on the way */
  packetsRepeated: number;
  /** Packets to the client that got a mark of congestion (CE) since packets have waited too long. Others are dropped then. */
  packetsMarked: number;
  /** Packets that were dropped, by reason. A packet that is lost after it was sent to the client counts as both. */
  drops: Record<(typeof tunnelDropReasons)[number], number>;
}

/** All tunnels of a server so far. */
export interface TunnelTotals extends TunnelCounts {
  /** Tunnels that are open now */
  open: number;
  /** Bytes of packets that wait for the connections of tunnels now */
  waitingBytes: number;
  /**
   * Smoothed time in milliseconds that the first packet of a tunnel waits for the first one in the other direction: for
   * protocols that answer at once, a round trip inside. Missing before the first response.
   */
  responseMs?: number;
}

/** What became of a tunnel. */
export interface TunnelOver extends TunnelCounts {
  /** Side or event that ended it */
  reason: (typeof tunnelEnds)[number];
  /** Code of HTTP/3, whatever the client has; H3_NO_ERROR (0x100) when a side ended it in order */
  code: number;
}

/** Host at the far end of a tunnel. */
export interface TunnelTarget {
  /** IP address */
  address: string;
  /** UDP port */
  port: number;
}

/** Rate that tunnels share. */
export interface TunnelRate {
  /** Any text; tunnels with the same one share the rate. */
  name: string;
  /** Bytes of UDP payload in a second, in each direction */
  bytesPerSecond: number;
}

/** How a tunnel carries packets to the other end of its connection. */
export interface TunnelCarriage {
  /** Milliseconds without a packet after which the tunnel ends. Default 2 minutes, of which RFC 9298 wants no less. */
  idleMs?: number;
  /** Bytes that may wait for the connection. Default 256 KiB. */
  queueBytes?: number;
  /**
   * `datagram`: QUIC datagrams, each sent once. `retransmit`: datagrams, sent again when they are lost, as in TECC (NSDI
   * 2024, §2). `stream`: capsules on the stream of the request, in order. Peers without datagrams always get capsules.
   * Default `retransmit`.
   */
  mode?: TunnelMode;
}

/** Way in which a tunnel carries packets to a peer with HTTP/3. */
export type TunnelMode = Exclude<(typeof tunnelModes)[number], 'stream-group'>;

/** Where a tunnel leads, and what bounds it. */
export interface TunnelOptions extends TunnelCarriage {
  /** IP address and port of the target. Nothing is checked: the caller decides who may reach what. */
  target: TunnelTarget;
  /** Tunnels of a server that have the same name share a rate in each direction. What is above it is dropped. Default no limit. */
  rate?: TunnelRate | undefined;
  /** Reports to the client how the tunnel does, in datagrams of their own (docs/reference/wire.md). Default false. */
  reports?: boolean;
  /**
   * Context ids of the client, as `readTunnelContexts` returns them. Packets keep their ECN marks then. Default undefined: they carry none.
   */
  contexts?: readonly number[] | undefined;
  /** Further fields of the response */
  headers?: Readonly<Record<string, string>>;
  /** Called once, when the tunnel is over. */
  onOver?(over: TunnelOver): void;
}

/** Why a peer of a local port has no tunnel: the response of the proxy, or what kept the request from it */
export interface TunnelRefusal {
  /** Path of the request, with the target in it */
  path: string;
  /** Status of the response; undefined where none came. */
  status?: number;
  /** Field `Proxy-Status` of the response (RFC 9209). */
  proxyStatus?: string | undefined;
  /** What kept the request from the proxy; undefined where a response came. */
  error?: Error;
}

/** What all local ports for tunnels of a client have in common. */
export interface LocalTunnelOptions extends TunnelCarriage {
  /** Local address, and port: 0 takes a free one */
  local: SocketAddress;
  /** Host and port of the proxy. Default: those that the client connected to. */
  authority?: string;
  /** Further fields of each request, such as `proxy-authorization` */
  headers?: Readonly<Record<string, string>>;
  /** Called for each tunnel that opens. */
  onOpened?(): void;
  /** Called for each tunnel that is over. What goes to the target goes to the peer here. */
  onOver?(over: TunnelOver): void;
  /**
   * Asks the proxy for reports, and is called with each one as it comes, about once in a round trip while packets come. Give it to
   * `reportTunnel` of the connection that the tunnel carries. Proxies that make none are used without.
   */
  onReport?(report: Uint8Array): void;
  /** Called when a peer, or a target of a relay, gets no tunnel. Its next packet asks again. */
  onRefused?(refusal: TunnelRefusal): void;
}

/** Options of `openTunnelPort`. */
export interface TunnelPortOptions extends LocalTunnelOptions {
  /** Path of the request with the target in it, from the proxy's template (RFC 9298 §2) */
  path: string;
  /** Descriptor of a socket of `openBoundUdp` at the local address; it stays open after the port. Default: the port opens one. */
  bound?: number;
}

/** Options of `openTunnelRelay`. */
export interface TunnelRelayOptions extends LocalTunnelOptions {
  /** The program that may use the relay. */
  program: {
    /** IP address. */
    address: string;
    /** UDP port; 0: the first one that sends something. */
    port: number;
  };
  /** Returns the path of the request for a target, from the proxy's template (RFC 9298 §2). Names may stand in any letters. */
  pathTo(host: string, port: number): string;
}

/** A local UDP port whose peers have a tunnel each, or a relay whose targets have. It closes with its connection. */
export interface TunnelPort {
  /** Address of the port. */
  readonly address: SocketAddress;
  /** Tunnels that are open now. */
  readonly tunnels: number;
  /** Closes the port and ends its tunnels. */
  close(): void;
  /** Closes the port of `openTunnelPort`, whose tunnels go on: their peers have sockets of their own. */
  leave(): void;
}

/** A tunnel that was opened. */
export interface OpenedTunnel {
  /** Address from which the target sees the client's packets */
  readonly localAddress: SocketAddress;
}

/** The stream of a request over HTTP/2 or HTTP/1.1, which carries capsules (RFC 9297 §3) in both directions. */
export interface CarriedStream {
  /** Connection of the client, which its tunnels share */
  carrier: object;
  /** What the client sends */
  incoming: Readable;
  /** What the client gets; the stream is over when this closes. */
  outgoing: Writable;
  /** Ends the stream with an error. */
  abort(over: TunnelOver): void;
}

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
] as const;

/** Reasons for which a tunnel ends; the order is that of `TunnelOver` in src/tunnel_node/tunnel_end.h. */
export const tunnelEnds = ['client', 'connection', 'idle', 'unreachable'] as const;

/** What a tunnel, or several together, did so far. */
export interface TunnelCounts {
  packetsToTarget: number;
  /** UDP payload, as in the other direction */
  bytesToTarget: number;
  packetsToClient: number;
  bytesToClient: number;
  /** Packets that were dropped, by reason. A packet that is lost after it was sent to the client counts as both. */
  drops: Record<(typeof tunnelDropReasons)[number], number>;
}

/** All tunnels of a server so far. */
export interface TunnelTotals extends TunnelCounts {
  /** Tunnels that are open now */
  open: number;
}

/** What became of a tunnel. */
export interface TunnelOver extends TunnelCounts {
  reason: (typeof tunnelEnds)[number];
  /** Code of HTTP/3; H3_NO_ERROR (0x100) when a side ended it in order */
  code: number;
}

export interface TunnelOptions {
  /** IP address and port of the target. Nothing is checked: the caller decides who may reach what. */
  target: { address: string; port: number };
  /** Milliseconds without a packet after which the tunnel ends. Default 2 minutes, of which RFC 9298 wants no less. */
  idleMs?: number;
  /** Bytes that may wait for the client. Default 256 KiB. */
  queueBytes?: number;
  /** Tunnels of a server that have the same name share a rate in each direction. What is above it is dropped. Default no limit. */
  rate?: { name: string; bytesPerSecond: number } | undefined;
  /** Further fields of the response */
  headers?: Readonly<Record<string, string>>;
  /** Called once, when the tunnel is over. */
  onOver?(over: TunnelOver): void;
}

/** A tunnel that was opened. */
export interface OpenedTunnel {
  /** Address from which the target sees the client's packets */
  readonly localAddress: SocketAddress;
}

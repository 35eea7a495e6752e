import type { PathReport } from './path_report.js';

/** What a node's own page shows of its tunnels. Counters only grow while the node runs. */
export interface TunnelReport {
  readonly node: string;
  /** `gateway`: tunnels end here and lead to targets. `tunnel`: programs use them. */
  readonly role: 'gateway' | 'tunnel';
  readonly state: string;
  /** Tunnels that are open now */
  readonly openUdp: number;
  readonly openTcp: number;
  /** Payload of packets and of connections */
  readonly bytesToTarget: number;
  readonly bytesToClient: number;
  /** Bytes of packets that wait now */
  readonly waitingBytes: number;
  /** Smoothed time from the first packet of a tunnel for UDP to the first one back; absent before that */
  readonly responseMs?: number;
  /** Smoothed time until a tunnel for TCP is open; absent before the first one */
  readonly openingMs?: number;
  /** Packets that were dropped, by reason */
  readonly drops: Readonly<Record<string, number>>;
  /** Requests that got no tunnel, by the status of the response */
  readonly refused: Readonly<Record<string, number>>;
  /** Paths of the connections with tunnels, the first ones */
  readonly paths: readonly PathReport[];
}

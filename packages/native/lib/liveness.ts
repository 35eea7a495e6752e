import type { NativeEndpoint } from './addon.js';
import type { ConnectionStatus } from './types.js';

/** Patience with a silent peer, in milliseconds; many probe timeouts (RFC 9002 §6.2) of usual paths. */
const patienceMs = 3_000;
const patienceRoundTrips = 20;

interface Sign {
  packetsReceived: number;
  at: number;
}

/** Finds out, by pings, whether the peers of connections are still there. */
export class Liveness {
  private readonly signs = new Map<number, Sign>();

  constructor(private readonly endpoint: NativeEndpoint) {}

  /** Call this about once a second. Returns false when the peer has answered nothing for too long. */
  check(connection: number, now = performance.now()): boolean {
    const status = this.endpoint.connectionStatus(connection) as ConnectionStatus | undefined;
    if (!status) return false;
    const packetsReceived = status.paths.reduce((sum, path) => sum + path.packetsReceived, 0);
    const roundTrip = Math.max(0, ...status.paths.map((path) => path.smoothedRttMs));
    const latest = this.signs.get(connection);
    if (latest?.packetsReceived !== packetsReceived) this.signs.set(connection, { packetsReceived, at: now });
    else if (now - latest.at > Math.max(patienceMs, patienceRoundTrips * roundTrip)) return false;
    this.endpoint.ping(connection);
    return true;
  }
}

import { formatAddress } from '@sheaf/gateway/client';
import type { BackendStatus, PathStatus } from '@sheaf/native';
import type { Downloaded } from './download.js';

/** A path at the end of the transfer */
export interface PathReport {
  id: number;
  local: string;
  remote: string;
  state: PathStatus['state'];
  status: PathStatus['status'];
  rtt_ms: number;
  bytes_sent: number;
  bytes_received: number;
  /** Lost packets */
  lost: number;
}

/** A backend at the end of the transfer, whose path is also among the paths */
export interface BackendReport {
  backend: number;
  path: number;
  address: string;
  state: BackendStatus['state'];
  rtt_ms: number;
  bytes_sent: number;
  bytes_received: number;
}

/** Output of `sheaf fetch --json` */
export interface FetchReport {
  /** Highest status of all requests */
  status: number;
  /** Bytes of all bodies */
  bytes: number;
  /** SHA-256 of the body; null when the bodies of repeated requests differ */
  sha256: string | null;
  /** Time from the start of the connection to the last byte */
  ms: number;
  alpn: string;
  paths: PathReport[];
  /** Servers beside the one in the URL (Multi-End) */
  backends: BackendReport[];
  /** How often the server was told about the tunnel, with --proxy */
  tunnel_reports?: number;
  /** Fields behind the body of the first response */
  trailers?: Downloaded['trailers'];
  /** Interim responses before the first response */
  interim?: Downloaded['interim'];
  /** Each request, with --repeat */
  requests?: Downloaded[];
}

export interface ConnectionFacts {
  ms: number;
  alpn: string;
  paths: PathStatus[];
  backends: BackendStatus[];
  tunnelReports: number | undefined;
}

export function fetchReport(
  results: readonly Downloaded[],
  { ms, alpn, paths, backends, tunnelReports }: ConnectionFacts,
): FetchReport {
  const hashes = new Set(results.map((result) => result.sha256));
  return {
    status: Math.max(...results.map((result) => result.status)),
    bytes: results.reduce((sum, result) => sum + result.bytes, 0),
    sha256: hashes.size === 1 ? (results[0]?.sha256 ?? null) : null,
    ms: rounded(ms),
    alpn,
    paths: paths.map(pathReport),
    backends: backends.map(backendReport),
    ...(tunnelReports === undefined ? {} : { tunnel_reports: tunnelReports }),
    ...(results[0]?.trailers ? { trailers: results[0].trailers } : {}),
    ...(results[0]?.interim ? { interim: results[0].interim } : {}),
    ...(results.length > 1 ? { requests: results.map((result) => ({ ...result, ms: rounded(result.ms) })) } : {}),
  };
}

function pathReport(path: PathStatus): PathReport {
  return {
    id: path.id,
    local: formatAddress(path.local),
    remote: formatAddress(path.remote),
    state: path.state,
    status: path.status,
    rtt_ms: rounded(path.smoothedRttMs),
    bytes_sent: path.bytesSent,
    bytes_received: path.bytesReceived,
    lost: path.packetsLost,
  };
}

function backendReport({
  backend,
  path,
  address,
  port,
  state,
  smoothedRttMs,
  bytesSent,
  bytesReceived,
}: BackendStatus): BackendReport {
  return {
    backend,
    path,
    address: formatAddress({ address, port }),
    state,
    rtt_ms: rounded(smoothedRttMs),
    bytes_sent: bytesSent,
    bytes_received: bytesReceived,
  };
}

/** Renders the report as one line for people. */
export function reportLine({ status, bytes, sha256, ms, alpn, requests, backends }: FetchReport): string {
  const count = requests === undefined ? '' : `${requests.length} requests, `;
  const rate = ms > 0 ? `, ${((bytes * 8) / ms / 1_000).toFixed(1)} Mbit/s` : '';
  return `${status}: ${count}${bytes} bytes in ${ms} ms${rate} over ${alpn}${describeBackends(backends)}, sha256 ${sha256 ?? 'differs'}`;
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1_000) / 1_000;
}

function describeBackends(backends: readonly BackendReport[]): string {
  const used = backends.filter((backend) => backend.bytes_received > 0);
  return used.length === 0
    ? ''
    : ` from ${used.map(({ backend, address, bytes_received: bytes }) => `backend ${backend} (${address}, ${bytes} bytes)`).join(' and ')}`;
}

/**
 * Credit of a backend to send, in bytes since it has the path: what the gateway lent and did not get back, and how much
 * of that was used
 */
export interface LeaseReport {
  readonly granted: number;
  readonly used: number;
}

/**
 * One path of an edge's connection to its gateway and the backends of its site, as pages see it. Counters only grow
 * while the path lives.
 */
export interface PathReport {
  /** Id of the path in its connection */
  readonly id: number;
  /** Local and remote address, each as `address:port` */
  readonly local: string;
  readonly remote: string;
  /** `silent`: nothing was acknowledged for a probe timeout. */
  readonly state: 'validating' | 'active' | 'silent' | 'abandoned';
  /** Backend that the path leads to; absent for the gateway */
  readonly backend?: number;
  /** Latest lease of the backend; absent for the gateway, and while it is unknown */
  readonly lease?: LeaseReport;
  /** Whether the path rests while another one works */
  readonly backup: boolean;
  readonly roundTripMs: number;
  readonly packetsSent: number;
  readonly packetsLost: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

const STATES: readonly unknown[] = ['validating', 'active', 'silent', 'abandoned'];
const COUNTS = ['id', 'roundTripMs', 'packetsSent', 'packetsLost', 'bytesSent', 'bytesReceived'] as const;
const MAX_PATHS = 64;

/** Checks the response of `paths`. @throws TypeError with the name of the wrong field */
export function parsePathReports(value: unknown): PathReport[] {
  const paths = (value as { paths?: unknown } | null)?.paths;
  if (!Array.isArray(paths) || paths.length > MAX_PATHS)
    throw new TypeError(`paths: not a list of at most ${MAX_PATHS}`);
  return paths.map(parsePathReport);
}

function parsePathReport(value: unknown): PathReport {
  const report = (value ?? {}) as Record<keyof PathReport, unknown>;
  for (const name of COUNTS) if (!isCount(report[name])) throw new TypeError(`${name}: not a number from 0`);
  for (const name of ['local', 'remote'] as const)
    if (typeof report[name] !== 'string') throw new TypeError(`${name}: not text`);
  if (!STATES.includes(report.state)) throw new TypeError('state: not a state of a path');
  if (report.backend !== undefined && !isCount(report.backend)) throw new TypeError('backend: not a number from 0');
  if (report.lease !== undefined) checkLease(report.lease);
  if (typeof report.backup !== 'boolean') throw new TypeError('backup: neither true nor false');
  return report as unknown as PathReport;
}

function checkLease(value: unknown): void {
  const lease = (value ?? {}) as Record<keyof LeaseReport, unknown>;
  if (!isCount(lease.granted) || !isCount(lease.used) || lease.used > lease.granted)
    throw new TypeError('lease: not a part of what was granted');
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

import type { LeaseReport, PathReport } from '@sheaf/web-client/protocol';
import { pathReport } from '../../observability/path_report.js';
import type { GatewayLinkStatus } from '../../observability/status.js';

/**
 * Returns what pages learn about the paths to the gateway and to backends; no paths while there is no connection.
 * `leases` are by path.
 */
export function pathReports(
  { connections: [connection] }: GatewayLinkStatus,
  leases: ReadonlyMap<number, LeaseReport>,
): PathReport[] {
  const backends = new Map(connection?.backends.map(({ path, backend }) => [path, { backend }]));
  const leased = new Map([...leases].map(([path, lease]) => [path, { lease }]));
  return (connection?.paths ?? []).map((path) => ({
    ...pathReport(path),
    ...backends.get(path.id),
    ...leased.get(path.id),
  }));
}

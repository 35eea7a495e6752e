import { join } from 'node:path';
import { round } from '../../measure/statistics.js';
import { CalledProcess } from '../../process/called_process.js';
import { residentMebibytes } from '../../process/memory.js';
import { withPrograms } from '../../process/owned_programs.js';
import type { IdleCall } from './idle_process.js';
import type { ServedSite } from './measured_downloads.js';
import { GATEWAY_TEMPLATE, pathOf, proxyRoutes, startGateways } from './programs.js';

/** Memory of Sheaf's proxy with tunnels that nothing goes through */
export interface IdleTunnels {
  tunnels: number;
  connections: number;
  /** Resident memory of the proxy: with a few tunnels, and with all of them */
  before_mib: number;
  after_mib: number;
  /** What a tunnel takes with its part of a connection: its socket's entry, its stream, and what JavaScript has of its request */
  bytes_per_tunnel: number;
}

/** Tunnels of a connection: fewer than `limits.connection_memory` permits */
const PER_CONNECTION = 500;
/** Gateways of the process: the tunnels of one have a quarter of the descriptors that the system permits the process. */
const GATEWAYS = 2;
/** Tunnels before those that count, by which the proxy has compiled its code */
const FIRST = 20;
const PATIENCE_S = 120;

/** Opens so many tunnels. @throws UserError */
export const measureIdle = ({ site, server }: ServedSite, tunnels: number, cancel: AbortSignal): Promise<IdleTunnels> =>
  withPrograms({ seconds: PATIENCE_S, late: 'the tunnels are not open', cancel }, async (own) => {
    const module = join(import.meta.dirname, 'idle_process.js');
    const client = own(new CalledProcess<IdleCall>('the client of idle tunnels', module));
    const routes = Array.from({ length: GATEWAYS }, () => proxyRoutes(server.port));
    const { ports, pid } = await startGateways(site, 'proxies', routes, own);
    const path = pathOf(GATEWAY_TEMPLATE, server.port);
    const open = async (connections: number, each: number): Promise<void> => {
      for (const port of ports) await client.call({ port, path, connections, tunnels: each });
    };
    await open(1, FIRST);
    const before = await residentMebibytes(pid);
    const connections = Math.ceil(tunnels / GATEWAYS / PER_CONNECTION);
    const each = Math.floor((tunnels / GATEWAYS - FIRST) / connections);
    await open(connections, each);
    const after = await residentMebibytes(pid);
    const opened = GATEWAYS * connections * each;
    return {
      tunnels: opened + GATEWAYS * FIRST,
      connections: GATEWAYS * (connections + 1),
      before_mib: round(before),
      after_mib: round(after),
      bytes_per_tunnel: Math.round(((after - before) * 2 ** 20) / opened),
    };
  });

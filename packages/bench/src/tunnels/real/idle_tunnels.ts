import { join } from 'node:path';
import { CalledProcess } from '../../process/called_process.js';
import { withPrograms } from '../../process/owned_programs.js';
import { residentMebibytes } from '../../process/memory.js';
import type { IdleCall } from './idle_process.js';
import type { ServedSite } from './measured_downloads.js';
import { pathOf, startProxy } from './programs.js';

/** Memory of Sheaf's proxy with tunnels that nothing goes through */
export interface IdleTunnels {
  tunnels: number;
  connections: number;
  /** Resident memory of the proxy: with the connections, and with their tunnels */
  before_mib: number;
  after_mib: number;
  /** What a tunnel takes: the request that JavaScript has, its stream, and the tunnel itself */
  bytes_per_tunnel: number;
}

/** Tunnels of a connection: fewer than `limits.connection_memory` permits */
const PER_CONNECTION = 500;
/** Tunnels before those that count, by which the proxy has compiled its code */
const FIRST = 20;
const PATIENCE_S = 120;
/** Descriptors of the proxy, of which tunnels may take a quarter */
const descriptors = (tunnels: number): number => 4 * tunnels + 4096;

/** Opens so many tunnels. @throws UserError */
export const measureIdle = ({ site, server }: ServedSite, tunnels: number, cancel: AbortSignal): Promise<IdleTunnels> =>
  withPrograms({ seconds: PATIENCE_S, late: 'the tunnels are not open', cancel }, async (own) => {
    const place = { enter: ['prlimit', `--nofile=${descriptors(tunnels)}`] };
    const proxy = await startProxy.sheaf(site, server.port, own, place);
    const module = join(import.meta.dirname, 'idle_process.js');
    const client = own(new CalledProcess<IdleCall>('the client of idle tunnels', module));
    const path = pathOf(proxy.template, server.port);
    const open = (connections: number, each: number): Promise<unknown> =>
      client.call({ port: proxy.port, path, connections, tunnels: each });
    await open(1, FIRST);
    const before = await residentMebibytes(proxy.pid);
    const connections = Math.ceil(tunnels / PER_CONNECTION);
    const each = Math.ceil(tunnels / connections);
    await open(connections, each);
    const after = await residentMebibytes(proxy.pid);
    return {
      tunnels: connections * each,
      connections,
      before_mib: before,
      after_mib: after,
      bytes_per_tunnel: ((after - before) * 2 ** 20) / (connections * each),
    };
  });

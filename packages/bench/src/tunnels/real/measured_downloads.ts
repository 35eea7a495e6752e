import { join } from 'node:path';
import { CalledProcess } from '../../process/called_process.js';
import { peakMebibytes } from '../../process/memory.js';
import { withPrograms, type Own } from '../../process/owned_programs.js';
import { underQuota } from '../../process/processor_quota.js';
import { finerProcessorSeconds } from '../../process/processor_time.js';
import type { ClientCall } from './client_process.js';
import { ARMS, type Plan, type Sample } from './plans.js';
import { startCarrier, startProxy, type StartedServer } from './programs.js';
import { fileOf, type Site } from './site.js';

/** Longest wait for the downloads: for the start of programs, and at a slow rate of a proxy that is not limited */
const PATIENCE = { seconds: 30, bytesPerSecond: 4_000_000 };
/** Bytes of a first download that does not count: programs that have just begun compile their code, and connections find their windows. */
export const FIRST_BYTES = 1_000_000;

/** A server with its files, which takes part in every run */
export interface ServedSite {
  site: Site;
  server: StartedServer;
}

interface Ways {
  /** Ports that lead to the server */
  ports: number[];
  server: number;
  proxy: number | undefined;
  carrier: number | undefined;
}

/** Starts proxy and tunnels, and downloads through all of them at once. @throws UserError */
export function measureDownloads(served: ServedSite, plan: Plan, bytes: number, cancel: AbortSignal): Promise<Sample> {
  const seconds = PATIENCE.seconds + (bytes * plan.clients) / PATIENCE.bytesPerSecond / plan.quota;
  return withPrograms({ seconds, late: 'the downloads are not complete', cancel }, async (own) => {
    const module = join(import.meta.dirname, 'client_process.js');
    const client = own(new CalledProcess<ClientCall>('the downloads', module));
    const ways = await openWays(served, plan, own);
    await client.call({ type: 'connect', ports: ways.ports });
    return download(client, ways, { bytes, quota: plan.quota });
  });
}

async function openWays({ site, server }: ServedSite, { arm, clients }: Plan, own: Own): Promise<Ways> {
  const { proxy: proxyName, carrier: carrierName } = ARMS[arm];
  if (proxyName === 'none') {
    const ports = Array.from({ length: clients }, () => server.port);
    return { ports, server: server.pid, proxy: undefined, carrier: undefined };
  }
  const proxy = await startProxy[proxyName](site, server.port, own);
  const carrier = await startCarrier[carrierName](proxy, { site, target: server.port, count: clients }, own);
  return { ports: carrier.ports, server: server.pid, proxy: proxy.pid, carrier: carrier.pid };
}

async function download(
  client: CalledProcess<ClientCall>,
  { server, proxy, carrier }: Ways,
  { bytes, quota }: { bytes: number; quota: number },
): Promise<Sample> {
  const read = () => ({
    at: performance.now() / 1000,
    proxy: secondsOf(proxy),
    carrier: secondsOf(carrier),
    server: secondsOf(server),
    client: secondsOf(client.pid),
  });
  const load = (size: number): Promise<unknown> =>
    client.call({ type: 'download', path: `/${fileOf(size)}`, bytes: size });
  await load(FIRST_BYTES);
  const work = async (): Promise<[ReturnType<typeof read>, ReturnType<typeof read>]> => {
    const start = read();
    await load(bytes);
    return [start, read()];
  };
  const [before, after] = await (proxy === undefined ? work() : underQuota(quota, proxy, work));
  return {
    seconds: after.at - before.at,
    proxy_cpu_s: after.proxy - before.proxy,
    carrier_cpu_s: after.carrier - before.carrier,
    server_cpu_s: after.server - before.server,
    client_cpu_s: after.client - before.client,
    proxy_rss_mib: proxy === undefined ? 0 : await peakMebibytes(proxy),
  };
}

const secondsOf = (pid: number | undefined): number => (pid === undefined ? 0 : finerProcessorSeconds([pid]));

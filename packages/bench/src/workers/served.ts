import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSite, startSheaf, type GatewayUnderTest, type Site } from '../http/gateways.js';
import type { LoadClient } from '../http/load_clients.js';
import { measureGateway } from '../http/measured_gateways.js';
import { underQuota } from '../process/processor_quota.js';
import { processorSeconds } from '../process/processor_time.js';

/** Downloads at a time, each by a client process of its own, so that each worker has some */
const downloads = 4;

/** A gateway with so many workers, each of which may use so much of a processor */
export interface WorkersPlan {
  workers: number;
  /** Share of one processor for each worker; 1: the gateway is not limited. */
  quota: number;
}

/** What a gateway did, and what that cost it */
export interface WorkersSample {
  requests_per_second: number;
  failed_requests: number;
  cpu_seconds_per_100000_requests: number;
  download_gbps: number;
  cpu_seconds_per_gb: number;
}

export interface Served {
  /** Bytes of all downloads of a sample */
  bytes: number;
  connections: number;
  seconds: number;
}

/** Makes a site for gateways, and removes it behind the work. */
export async function withSite<Result>(bytes: number, work: (site: Site) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-workers-'));
  try {
    return await work(await makeSite(directory, Math.ceil(bytes / downloads)));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Starts a gateway, and measures requests for a small file and downloads of a large one. @throws UserError */
export async function measureWorkers(
  client: LoadClient,
  site: Site,
  { workers, quota }: WorkersPlan,
  load: Served,
): Promise<WorkersSample> {
  const gateway = await startSheaf(site, { further: `workers: ${workers}\n` });
  try {
    const share = quota === 1 ? 1 : quota * workers;
    return await underQuota(share, gateway.pid, () => measure(client, gateway, load));
  } finally {
    await gateway.stop();
  }
}

async function measure(
  client: LoadClient,
  gateway: GatewayUnderTest,
  { bytes, connections, seconds }: Served,
): Promise<WorkersSample> {
  const each = Math.ceil(bytes / downloads);
  const asked = await measureGateway(client, gateway, { bytes: each, connections, seconds });
  const before = processorSeconds([gateway.pid]);
  const started = performance.now();
  await Promise.all(Array.from({ length: downloads }, () => client.download(gateway.port, '/large', each)));
  const took = (performance.now() - started) / 1_000;
  return {
    requests_per_second: asked.requests_per_second,
    failed_requests: asked.failed_requests,
    cpu_seconds_per_100000_requests: asked.cpu_seconds_per_100000_requests,
    download_gbps: (each * downloads * 8) / took / 1e9,
    cpu_seconds_per_gb: (processorSeconds([gateway.pid]) - before) / ((each * downloads) / 1e9),
  };
}

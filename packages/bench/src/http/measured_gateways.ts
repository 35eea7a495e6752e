import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import type { Skipped } from '../engine/subjects.js';
import { processorSeconds } from '../process/processor_time.js';
import { findCaddy } from './caddy.js';
import {
  caddyFilesConfiguration,
  makeSite,
  sheafConfiguration,
  startCaddy,
  startSheaf,
  type FileServer,
  type GatewayUnderTest,
  type Site,
} from './gateways.js';
import type { Load, LoadClient, Protocol, Requests } from './load_clients.js';
import { findNginx, whatNginxLacks } from './nginx.js';
import { nginxFilesConfiguration, startNginx } from './nginx_files.js';

export const GATEWAYS = ['sheaf', 'caddy', 'nginx'] as const;
export type GatewayName = (typeof GATEWAYS)[number];

type NamedGateway = GatewayUnderTest & { name: GatewayName };

export interface OpenedGateways {
  gateways: NamedGateway[];
  /** Gateways that are not measured, or in another version than intended, with the reasons */
  skipped: Skipped[];
  close(): Promise<void>;
}

type Start = (site: Site, protocol: Protocol, progress: (line: string) => void) => Promise<Started>;
interface Started {
  gateway?: GatewayUnderTest | undefined;
  reason?: string | undefined;
}

const starts: Readonly<Record<GatewayName, Start>> = {
  sheaf: async (site) => ({ gateway: await startSheaf(site) }),
  async caddy(site, _protocol, progress) {
    const { command, reason } = await findCaddy(progress);
    return { gateway: command === undefined ? undefined : await startCaddy(site, command), reason };
  },
  async nginx(site, protocol, progress) {
    const found = await findNginx(progress);
    const gateway = found.reasons[protocol] === undefined ? await startNginx(site, found) : undefined;
    return { gateway, reason: whatNginxLacks(found, [protocol]) };
  },
};

const configurations: Readonly<Record<GatewayName, (server: FileServer) => string>> = {
  sheaf: (server) => sheafConfiguration(server),
  caddy: caddyFilesConfiguration,
  nginx: (server) => nginxFilesConfiguration(server),
};

/** Returns what a gateway is configured with, as it is when it has neither a port nor files yet. */
export const configurationOf = (name: GatewayName): string => configurations[name]({ port: 0, files: 'files' });

/** Starts gateways that serve a large file of `bytes` and a small one of 1 KB. @throws UserError */
export async function openGateways(
  { names, protocol, bytes }: { names: readonly GatewayName[]; protocol: Protocol; bytes: number },
  progress: (line: string) => void,
): Promise<OpenedGateways> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-http-'));
  const opened: OpenedGateways = {
    gateways: [],
    skipped: [],
    async close() {
      await Promise.all(opened.gateways.map((gateway) => gateway.stop()));
      await rm(directory, { recursive: true, force: true });
    },
  };
  try {
    progress(`writing ${bytes / 1e6} MB`);
    const site = await makeSite(directory, bytes);
    for (const name of names) {
      const { gateway, reason } = await starts[name](site, protocol, progress);
      if (gateway) opened.gateways.push({ ...gateway, name });
      if (reason !== undefined) opened.skipped.push({ library: name, reason });
    }
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

export interface GatewaySample {
  /** Rate of one download of the large file */
  download_gbps: number;
  /** Requests for the small file, one at a time on each connection */
  requests_per_second: number;
  /** Processor time of the gateway for 100,000 of the small files, user and system */
  cpu_seconds_per_100000_requests: number;
  failed_requests: number;
}

/** Requests before those that are measured, which compile the gateway's code and tell its rate */
const warmUp = { seconds: 1, expectedRate: 20_000 };

/**
 * Measures a download, then requests for about `seconds`. Opening the connections is measured alone and subtracted.
 * @throws UserError
 */
export async function measureGateway(
  client: LoadClient,
  { port, pid }: GatewayUnderTest,
  { bytes, connections, seconds }: { bytes: number; connections: number; seconds: number },
): Promise<GatewaySample> {
  const downloaded = await client.download(port, '/large', bytes);
  const ask = async (load: Omit<Load, 'connections'>): Promise<AnsweredLoad> => {
    const before = processorSeconds([pid]);
    const answered = await client.requests(port, '/small', { connections, ...load });
    return { ...answered, cpuSeconds: processorSeconds([pid]) - before };
  };
  const first = await ask(warmUp);
  const expectedRate = first.requests / first.seconds;
  const opening = await ask({ seconds: 0, expectedRate });
  const whole = await ask({ seconds, expectedRate });
  return {
    download_gbps: (bytes * 8) / downloaded / 1e9,
    ...ratesOf(opening, whole),
    failed_requests: first.failed + opening.failed + whole.failed,
  };
}

/** Requests with the processor time of the gateway, user and system */
export type AnsweredLoad = Requests & { cpuSeconds: number };

/** Returns the rate and the cost of requests alone, without opening the connections. @throws UserError */
export function ratesOf(
  opening: AnsweredLoad,
  whole: AnsweredLoad,
): Pick<GatewaySample, 'requests_per_second' | 'cpu_seconds_per_100000_requests'> {
  const requests = whole.requests - opening.requests;
  if (requests <= 0) throw new UserError('BENCH_FAILED', 'the gateway answered no request');
  return {
    requests_per_second: requests / (whole.seconds - opening.seconds),
    cpu_seconds_per_100000_requests: ((whole.cpuSeconds - opening.cpuSeconds) / requests) * 100_000,
  };
}

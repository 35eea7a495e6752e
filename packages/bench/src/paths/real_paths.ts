import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import type { ResultTable } from '../experiment.js';
import { makeSite, startSheaf } from '../http/gateways.js';
import { distribution, round } from '../measure/statistics.js';
import { cargoForNoq, requireTools } from '../process/toolchain.js';
import { buildNoq, downloadWithNoq, noqVersion, runDownload, startNoq, type Download } from './noq.js';

const ALPN = 'hq-interop';
const PATH_COUNTS = [1, 2, 4] as const;

export interface RealPathsOptions {
  runs: number;
  /** Bytes of a download */
  bytes: number;
}

export const LIBRARIES = ['sheaf', 'noq'] as const;
type Library = (typeof LIBRARIES)[number];

/** Goodput of a download over loopback, from one library's server to one library's client */
export interface RealCell {
  server: Library;
  client: Library;
  /** Number of paths, from 127.0.0.1, 127.0.0.2 and so on, to one address and port */
  paths: number;
  /** Median goodput, from the request to the last byte, including the hash of the body */
  goodput_mbps: number;
  /** Quartiles */
  spread_mbps: [number, number];
  runs: number;
}

interface Server {
  port: number;
  target: string;
}

type Client = (server: Server, locals: readonly string[]) => Promise<Download>;

/** Running servers and clients of both libraries */
export interface Downloads {
  servers: Readonly<Record<Library, Server>>;
  clients: Readonly<Record<Library, Client>>;
  bytes: number;
  noqVersion: string;
  close(): Promise<void>;
}

/** Starts the servers of both libraries, in a process each. @throws UserError */
export async function openDownloads(bytes: number, progress: (line: string) => void): Promise<Downloads> {
  await requireTools('the comparison with noq', [cargoForNoq]);
  progress('building noq (minutes the first time)');
  const program = await buildNoq();
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-paths-'));
  const stops: (() => Promise<void>)[] = [() => rm(directory, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const stop of stops.reverse()) await stop();
  };
  try {
    const gateway = await startSheaf(await makeSite(directory, bytes), { alpn: ALPN });
    stops.push(() => gateway.stop());
    const noq = await startNoq(program);
    stops.push(() => noq.stop());
    return {
      servers: { sheaf: { port: gateway.port, target: '/large' }, noq: { port: noq.port, target: `/${bytes}` } },
      clients: {
        sheaf: downloadWithSheaf,
        noq: ({ port, target }, locals) => downloadWithNoq(program, port, target, locals),
      },
      bytes,
      noqVersion: await noqVersion(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Downloads once. Returns the goodput in Mbit/s. @throws UserError */
export async function downloadOnce(
  { servers, clients, bytes }: Downloads,
  { server, client, paths }: Pick<RealCell, 'server' | 'client' | 'paths'>,
): Promise<number> {
  const locals = Array.from({ length: paths - 1 }, (_, index) => `127.0.0.${index + 2}`);
  const download = await clients[client](servers[server], locals);
  if (download.bytes !== bytes)
    throw new UserError('BENCH_FAILED', `${server} sent ${download.bytes} of ${bytes} bytes to ${client}`);
  return (bytes * 8) / download.seconds / 1e6;
}

/**
 * Measures goodput with 1, 2 and 4 paths of Sheaf and noq, as server and client, in turns. Server and client have a
 * process each. @throws UserError
 */
export async function measureRealPaths(
  { runs, bytes }: RealPathsOptions,
  progress: (line: string) => void,
): Promise<RealCell[]> {
  const downloads = await openDownloads(bytes, progress);
  try {
    const cells = PATH_COUNTS.flatMap((paths) =>
      LIBRARIES.flatMap((server) => LIBRARIES.map((client) => ({ server, client, paths, values: [] as number[] }))),
    );
    for (let run = 1; run <= runs; run += 1) {
      for (const { values, ...cell } of cells) {
        const mbps = await downloadOnce(downloads, cell);
        values.push(mbps);
        progress(
          `run ${run} of ${runs}, ${cell.server} to ${cell.client}, ${cell.paths} paths: ${Math.round(mbps)} Mbit/s`,
        );
      }
    }
    return cells.map(({ values, ...cell }) => {
      const { median, quartiles } = distribution(values);
      return { ...cell, goodput_mbps: round(median), spread_mbps: [round(quartiles[0]), round(quartiles[1])], runs };
    });
  } finally {
    await downloads.close();
  }
}

function downloadWithSheaf({ port, target }: Server, locals: readonly string[]): Promise<Download> {
  return runDownload(process.execPath, [join(import.meta.dirname, 'sheaf_client.js'), String(port), target, ...locals]);
}

export function realPathsTable(cells: readonly RealCell[]): ResultTable {
  return {
    head: ['server', 'client', 'paths', 'Mbit/s', 'runs'],
    rows: cells.map(({ server, client, paths, goodput_mbps, spread_mbps, runs }) => [
      server,
      client,
      String(paths),
      `${goodput_mbps} (${spread_mbps.join(' to ')})`,
      String(runs),
    ]),
    notes: [],
  };
}

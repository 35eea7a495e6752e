import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import type { ResultTable } from '../experiment.js';
import { makeSite, startSheaf } from '../http/gateways.js';
import { distribution, round } from '../measure/statistics.js';
import { cargoForNoq, requireTools } from '../process/toolchain.js';
import { buildNoq, downloadWithNoq, runDownload, startNoq, type Download } from './noq.js';

const ALPN = 'hq-interop';
const PATH_COUNTS = [1, 2, 4] as const;

export interface RealPathsOptions {
  runs: number;
  /** Bytes of a download */
  bytes: number;
}

type Library = 'sheaf' | 'noq';

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
  library: Library;
  port: number;
  target: string;
}

type Client = (server: Server, locals: readonly string[]) => Promise<Download>;

/**
 * Measures goodput with 1, 2 and 4 paths of Sheaf and noq, as server and client, in turns. Server and client have a
 * process each. @throws UserError
 */
export async function measureRealPaths(
  options: RealPathsOptions,
  progress: (line: string) => void,
): Promise<RealCell[]> {
  await requireTools('the comparison with noq', [cargoForNoq]);
  progress('building noq (minutes the first time)');
  const program = await buildNoq();
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-paths-'));
  try {
    const gateway = await startSheaf(await makeSite(directory, options.bytes), ALPN);
    try {
      const noq = await startNoq(program);
      try {
        const servers: Server[] = [
          { library: 'sheaf', port: gateway.port, target: '/large' },
          { library: 'noq', port: noq.port, target: `/${options.bytes}` },
        ];
        const clients: Record<Library, Client> = {
          sheaf: downloadWithSheaf,
          noq: ({ port, target }, locals) => downloadWithNoq(program, port, target, locals),
        };
        return await measureInTurns(servers, clients, options, progress);
      } finally {
        await noq.stop();
      }
    } finally {
      await gateway.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function measureInTurns(
  servers: readonly Server[],
  clients: Record<Library, Client>,
  { runs, bytes }: RealPathsOptions,
  progress: (line: string) => void,
): Promise<RealCell[]> {
  const cells = PATH_COUNTS.flatMap((paths) =>
    servers.flatMap((server) =>
      (['sheaf', 'noq'] as const).map((client) => ({ server, client, paths, values: [] as number[] })),
    ),
  );
  for (let run = 1; run <= runs; run += 1) {
    for (const { server, client, paths, values } of cells) {
      const locals = Array.from({ length: paths - 1 }, (_, index) => `127.0.0.${index + 2}`);
      const download = await clients[client](server, locals);
      if (download.bytes !== bytes)
        throw new UserError('BENCH_FAILED', `${server.library} sent ${download.bytes} of ${bytes} bytes to ${client}`);
      values.push((bytes * 8) / download.seconds / 1e6);
      progress(
        `run ${run} of ${runs}, ${server.library} to ${client}, ${paths} paths: ${Math.round(values.at(-1) ?? 0)} Mbit/s`,
      );
    }
  }
  return cells.map(({ server, client, paths, values }) => {
    const { median, quartiles } = distribution(values);
    return {
      server: server.library,
      client,
      paths,
      goodput_mbps: round(median),
      spread_mbps: [round(quartiles[0]), round(quartiles[1])],
      runs,
    };
  });
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

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { buildWithCargo, type Skipped } from '../engine/subjects.js';
import type { Experiment, ExperimentContext, ResultTable } from '../experiment.js';
import { describeMachine, type Machine } from '../measure/machine.js';
import { distribution, round } from '../measure/statistics.js';
import { processorSeconds } from '../process/processor_time.js';
import { runProgram } from '../process/run_program.js';
import { cargo, cmake, requireTools } from '../process/toolchain.js';
import { nativeSources } from '../process/workspace.js';
import { findCaddy, type FoundCaddy } from './caddy.js';
import { makeSite, startCaddy, startSheaf, type GatewayUnderTest, type Site } from './gateways.js';

const optionsSchema = z.strictObject({
  runs: z.coerce.number().int().min(1).default(5),
  bytes: z.coerce.number().int().min(1_000_000).default(1_000_000_000),
  connections: z.coerce.number().int().min(1).default(100),
  seconds: z.coerce.number().min(0.5).default(5),
  check: z.boolean().default(false),
});
type Options = Omit<z.output<typeof optionsSchema>, 'check'>;

/** Required ratio of Sheaf's requests per second to Caddy's */
const requiredRatio = 1.5;

const downloadSchema = z.object({ bytes: z.number(), seconds: z.number().positive() });
const requestsSchema = z.object({ requests: z.number(), failed: z.number(), seconds: z.number().positive() });

interface HttpResult {
  gateway: string;
  version: string;
  /** Rate of one download of the large file, in bits per second */
  download_gbps: number;
  /** Requests for 1 KB objects, one at a time on each connection */
  requests_per_second: number;
  failed_requests: number;
  /** Processor time of the gateway for 100,000 of the small objects */
  cpu_seconds_per_100000_requests: number;
  runs: number;
  /** Quartiles */
  spread: { download_gbps: [number, number]; requests_per_second: [number, number] };
}

export interface HttpReport {
  experiment: 'http';
  machine: Machine;
  parameters: Options & { client: string };
  results: HttpResult[];
  skipped: Skipped[];
}

interface Measured {
  downloads: number[];
  rates: number[];
  /** Processor time of each run's requests, per 100,000 of them */
  costs: number[];
  failed: number;
}

export const httpBench: Experiment = {
  name: 'http',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, context) {
    const { check, ...options } = optionsSchema.parse(rawOptions);
    const report = await measure(options, context);
    const missed = check ? missedMark(report.results) : undefined;
    return { report, tables: [table(report)], ...(missed !== undefined && { failure: missed }) };
  },
};

async function measure(options: Options, { progress }: ExperimentContext): Promise<HttpReport> {
  nativeSources();
  await requireTools('the client of this experiment', [cargo, cmake]);
  const machine = describeMachine();
  progress('building the client (quinn and h3)');
  const client = await buildWithCargo('http-client');
  const caddy = await findCaddy(progress);
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-http-'));
  try {
    progress(`writing ${options.bytes / 1e6} MB`);
    const { results, skipped } = await compare(
      await makeSite(directory, options.bytes),
      { client, caddy },
      options,
      progress,
    );
    return {
      experiment: 'http',
      machine,
      parameters: { ...options, client: 'quinn + h3, one thread' },
      results,
      skipped,
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

interface Programs {
  client: string;
  caddy: FoundCaddy;
}

async function compare(
  site: Site,
  programs: Programs,
  options: Options,
  progress: (line: string) => void,
): Promise<Pick<HttpReport, 'results' | 'skipped'>> {
  const gateways: GatewayUnderTest[] = [];
  try {
    gateways.push(await startSheaf(site));
    const { command, reason } = programs.caddy;
    const caddy = command === undefined ? undefined : await startCaddy(site, command);
    if (caddy) gateways.push(caddy);
    const measured = new Map<GatewayUnderTest, Measured>(
      gateways.map((gateway) => [gateway, { downloads: [], rates: [], costs: [], failed: 0 }]),
    );
    for (let run = 1; run <= options.runs; run += 1) {
      for (const [gateway, into] of measured) {
        await measureOnce(programs.client, gateway, options, into);
        progress(
          `run ${run} of ${options.runs}, ${gateway.name}: ${round(into.downloads.at(-1) ?? 0, 3)} Gbit/s, ${Math.round(into.rates.at(-1) ?? 0)} requests/s`,
        );
      }
    }
    return {
      results: [...measured].map(([gateway, values]) => summarize(gateway, values)),
      skipped: reason === undefined ? [] : [{ library: 'caddy', reason }],
    };
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
  }
}

async function measureOnce(client: string, gateway: GatewayUnderTest, options: Options, into: Measured): Promise<void> {
  const target = [`127.0.0.1:${gateway.port}`, 'localhost'];
  const download = downloadSchema.parse(JSON.parse(await runProgram(client, [...target, 'download', '/large'])));
  if (download.bytes !== options.bytes)
    throw new UserError('BENCH_FAILED', `${gateway.name} sent ${download.bytes} of ${options.bytes} bytes`);
  into.downloads.push((download.bytes * 8) / download.seconds / 1e9);
  const before = processorSeconds([gateway.pid]);
  const load = requestsSchema.parse(
    JSON.parse(
      await runProgram(client, [...target, 'requests', '/small', String(options.connections), String(options.seconds)]),
    ),
  );
  into.rates.push(load.requests / load.seconds);
  into.costs.push(((processorSeconds([gateway.pid]) - before) / load.requests) * 100_000);
  into.failed += load.failed;
}

function summarize(gateway: GatewayUnderTest, { downloads, rates, costs, failed }: Measured): HttpResult {
  const download = distribution(downloads);
  const rate = distribution(rates);
  return {
    gateway: gateway.name,
    version: gateway.version,
    download_gbps: round(download.median),
    requests_per_second: round(rate.median),
    failed_requests: failed,
    cpu_seconds_per_100000_requests: round(distribution(costs).median, 3),
    runs: downloads.length,
    spread: {
      download_gbps: [round(download.quartiles[0]), round(download.quartiles[1])],
      requests_per_second: [round(rate.quartiles[0]), round(rate.quartiles[1])],
    },
  };
}

/** Returns the requirement that the comparison misses; undefined when it misses none. */
export function missedMark(
  results: readonly Pick<HttpResult, 'gateway' | 'requests_per_second' | 'failed_requests'>[],
): string | undefined {
  const [own, caddy] = ['sheaf', 'caddy'].map((name) => results.find(({ gateway }) => gateway === name));
  if (!own || !caddy) return 'Caddy was not measured';
  if (own.failed_requests > 0) return `${own.failed_requests} requests failed`;
  const ratio = own.requests_per_second / caddy.requests_per_second;
  return ratio >= requiredRatio
    ? undefined
    : `requests per second are ${round(ratio, 3)} times Caddy's, not ${requiredRatio} times`;
}

function table(report: HttpReport): ResultTable {
  return {
    head: ['gateway', 'version', 'download Gbit/s', 'requests/s', 'CPU s per 100,000 requests', 'failed', 'runs'],
    rows: report.results.map(
      ({
        gateway,
        version,
        download_gbps,
        requests_per_second,
        cpu_seconds_per_100000_requests,
        failed_requests,
        runs,
        spread,
      }) => [
        gateway,
        version,
        `${download_gbps} (${spread.download_gbps.join(' to ')})`,
        `${requests_per_second} (${spread.requests_per_second.join(' to ')})`,
        String(cpu_seconds_per_100000_requests),
        String(failed_requests),
        String(runs),
      ],
    ),
    notes: report.skipped.map(({ library, reason }) => `skipped ${library}: ${reason}`),
  };
}

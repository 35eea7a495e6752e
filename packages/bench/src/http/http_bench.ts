import { nativeSources } from '../process/workspace.js';
import { z } from 'zod';
import type { Skipped } from '../engine/subjects.js';
import type { Experiment, ExperimentContext, ResultTable } from '../experiment.js';
import { describeMachine, type Machine } from '../measure/machine.js';
import { distribution, round, type Distribution } from '../measure/statistics.js';
import type { GatewayUnderTest } from './gateways.js';
import { CIPHER_SUITE, loadClient, PROTOCOLS } from './load_clients.js';
import { GATEWAYS, measureGateway, openGateways, type GatewaySample } from './measured_gateways.js';

const optionsSchema = z.strictObject({
  protocol: z.enum(PROTOCOLS).default('h3'),
  runs: z.coerce.number().int().min(1).default(5),
  bytes: z.coerce.number().int().min(1_000_000).default(1_000_000_000),
  connections: z.coerce.number().int().min(1).default(100),
  seconds: z.coerce.number().min(0.5).default(5),
  check: z.boolean().default(false),
});
type Options = Omit<z.output<typeof optionsSchema>, 'check'>;

/** Required ratio of Sheaf's requests per second to Caddy's */
const requiredRatio = 1.5;

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
  parameters: Options & { client: string; cipher_suite: string };
  results: HttpResult[];
  skipped: Skipped[];
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

async function measure({ protocol, ...options }: Options, { progress }: ExperimentContext): Promise<HttpReport> {
  nativeSources();
  const client = await loadClient(protocol, progress);
  const machine = describeMachine();
  const opened = await openGateways({ names: GATEWAYS, protocol, bytes: options.bytes }, progress);
  try {
    const samples = new Map(opened.gateways.map((gateway) => [gateway, [] as GatewaySample[]]));
    for (let run = 1; run <= options.runs; run += 1) {
      for (const [gateway, into] of samples) {
        const sample = await measureGateway(client, gateway, options);
        into.push(sample);
        progress(
          `run ${run} of ${options.runs}, ${gateway.name}: ${round(sample.download_gbps, 3)} Gbit/s, ${Math.round(sample.requests_per_second)} requests/s`,
        );
      }
    }
    return {
      experiment: 'http',
      machine,
      parameters: { ...options, protocol, client: client.name, cipher_suite: CIPHER_SUITE },
      results: [...samples].map(([gateway, values]) => summarize(gateway, values)),
      skipped: opened.skipped,
    };
  } finally {
    await opened.close();
  }
}

function summarize({ name, version }: GatewayUnderTest, samples: readonly GatewaySample[]): HttpResult {
  const of = (quantity: keyof GatewaySample): Distribution => distribution(samples.map((sample) => sample[quantity]));
  const quartiles = ({ quartiles: [low, high] }: Distribution): [number, number] => [round(low), round(high)];
  const download = of('download_gbps');
  const rate = of('requests_per_second');
  return {
    gateway: name,
    version,
    download_gbps: round(download.median),
    requests_per_second: round(rate.median),
    failed_requests: samples.reduce((sum, { failed_requests }) => sum + failed_requests, 0),
    cpu_seconds_per_100000_requests: round(of('cpu_seconds_per_100000_requests').median, 3),
    runs: samples.length,
    spread: { download_gbps: quartiles(download), requests_per_second: quartiles(rate) },
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

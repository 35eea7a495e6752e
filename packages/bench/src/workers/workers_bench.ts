import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome, ResultTable } from '../experiment.js';
import { loadClient, PROTOCOLS } from '../http/load_clients.js';
import { describeMachine, type Machine } from '../measure/machine.js';
import { distribution, round } from '../measure/statistics.js';
import { numberList } from '../number_list.js';
import { permittedQuotas } from '../process/processor_quota.js';
import { nativeSources } from '../process/workspace.js';
import { measureForwarding, type ForwardedUpload } from './forwarding.js';
import { placementOf, type Placement } from './placement.js';
import { measureWorkers, withSite, type WorkersPlan, type WorkersSample } from './served.js';

/** Numbers of workers whose placement is simulated */
const simulated = [2, 4, 8, 16, 32, 48, 64];
const simulatedConnections = 10_000;

const optionsSchema = z.strictObject({
  protocol: z.enum(PROTOCOLS).default('h3'),
  runs: z.coerce.number().int().min(1).default(3),
  bytes: z.coerce.number().int().min(1_000_000).default(400_000_000),
  connections: z.coerce.number().int().min(1).default(100),
  seconds: z.coerce.number().min(0.5).default(3),
  quota: numberList('0.25,1', z.number().min(0.05).max(1)),
});
type Options = z.output<typeof optionsSchema>;

interface MeasuredWorkers extends WorkersPlan, WorkersSample {
  runs: number;
}

interface MeasuredForwarding extends ForwardedUpload {
  runs: number;
}

export interface WorkersReport {
  experiment: 'workers';
  machine: Machine;
  parameters: Options & { client: string };
  results: MeasuredWorkers[];
  forwarding: MeasuredForwarding[];
  placement: Placement[];
  skipped: { what: string; reason: string }[];
}

export const workersBench: Experiment = {
  name: 'workers',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, context): Promise<Outcome> {
    const report = await measure(optionsSchema.parse(rawOptions), context);
    return { report, tables: [servedTable(report), forwardingTable(report), placementTable(report)] };
  },
};

async function measure(options: Options, { progress }: ExperimentContext): Promise<WorkersReport> {
  nativeSources();
  const client = await loadClient(options.protocol, progress);
  const machine = describeMachine();
  const { permitted, refused } = permittedQuotas(options.quota);
  const plans = permitted.flatMap((quota) => [1, 2].map((workers): WorkersPlan => ({ workers, quota })));
  const samples = new Map(plans.map((plan) => [plan, [] as WorkersSample[]]));
  await withSite(options.bytes, async (site) => {
    for (let run = 1; run <= options.runs; run += 1)
      for (const [plan, into] of samples) {
        const sample = await measureWorkers(client, site, plan, options);
        into.push(sample);
        progress(
          `run ${run} of ${options.runs}, ${plan.workers} workers${limit(plan)}: ${Math.round(sample.requests_per_second)} requests/s, ${round(sample.download_gbps, 3)} Gbit/s`,
        );
      }
  });
  const uploads = await measureForwarding(options, progress);
  return {
    experiment: 'workers',
    machine,
    parameters: { ...options, client: client.name },
    results: [...samples].map(([plan, values]) => ({ ...plan, ...medians(values), runs: values.length })),
    forwarding: [false, true].map((forwarded) => {
      const values = uploads.filter((upload) => upload.forwarded === forwarded);
      return { forwarded, ...medians(values.map(({ forwarded: _, ...counts }) => counts)), runs: values.length };
    }),
    placement: simulated.map((workers) => placementOf(workers, simulatedConnections)),
    skipped: refused,
  };
}

/** Returns the median of each quantity. */
function medians<Sample extends Record<keyof Sample, number>>(samples: readonly Sample[]): Sample {
  const [first] = samples;
  if (!first) throw new Error('nothing was measured');
  const keys = Object.keys(first) as (keyof Sample)[];
  const entries = keys.map((key) => [key, round(distribution(samples.map((sample) => sample[key])).median)]);
  return Object.fromEntries(entries) as Sample;
}

const limit = ({ quota }: WorkersPlan): string => (quota === 1 ? '' : ` of ${quota} of a processor each`);

function servedTable({ results, skipped }: WorkersReport): ResultTable {
  return {
    head: ['workers', 'requests/s', 'CPU s per 100,000', 'failed', 'Gbit/s', 'CPU s per GB', 'runs'],
    rows: results.map((result) => [
      `${result.workers}${limit(result)}`,
      String(Math.round(result.requests_per_second)),
      String(result.cpu_seconds_per_100000_requests),
      String(result.failed_requests),
      String(result.download_gbps),
      String(result.cpu_seconds_per_gb),
      String(result.runs),
    ]),
    notes: skipped.map(({ what, reason }) => `skipped ${what}: ${reason}`),
  };
}

function forwardingTable({ forwarding }: WorkersReport): ResultTable {
  return {
    head: ['packets of an upload come', 'Gbit/s', 'CPU s per GB', 'datagrams passed on/s', 'lost', 'runs'],
    rows: forwarding.map((result) => [
      result.forwarded ? 'through another worker' : 'to the worker itself',
      String(result.gbps),
      String(result.cpu_seconds_per_gb),
      String(Math.round(result.datagrams_per_second)),
      String(result.lost),
      String(result.runs),
    ]),
    notes: [],
  };
}

function placementTable({ placement }: WorkersReport): ResultTable {
  return {
    head: ['workers, simulated', 'connections', 'most of a worker, of the mean', 'by chance alone'],
    rows: placement.map(({ workers, connections, busiest, busiest_by_chance }) => [
      String(workers),
      String(connections),
      String(round(busiest, 3)),
      String(round(busiest_by_chance, 3)),
    ]),
    notes: [],
  };
}

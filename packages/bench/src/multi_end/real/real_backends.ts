import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPresentCaddy } from '../../http/caddy.js';
import { progressBar } from '../../measure/progress_bar.js';
import { distribution, mean, round, type Distribution } from '../../measure/statistics.js';
import type { ClientTask } from './client_messages.js';
import { runClients } from './clients.js';
import { paths, startBackendSite, type BackendSite, type SheafDelivery, type SiteOptions } from './backend_site.js';
import { processorSeconds } from '../../process/processor_time.js';

/** Factor by which uploads are larger and fewer than downloads: 10 MB for downloads of 500 KB */
const UPLOAD_FACTOR = 20;

export interface RealBackendsOptions {
  runs: number;
  clients: number;
  /** Downloads of each client, one after the other */
  requests: number;
  /** Bytes of a download */
  bytes: number;
  /** Numbers of backends of the sites, which are measured one after the other */
  backends: readonly number[];
}

export type Delivery = Exclude<SheafDelivery, 'return'> | 'caddy' | 'nginx';

/** Medians of the runs */
export interface CpuCell {
  delivery: Delivery;
  backends: number;
  /** Processor time of the primary, or of the proxy in its place: user and system, including connecting */
  primary_cpu_s: number;
  /** Processor time of all backends together */
  backends_cpu_s: number;
  /** Time from the first request to the last byte */
  wall_s: number;
  /** Part of `primary_cpu_s` that handshakes and hand-overs took */
  connecting_cpu_s: number;
  /** Share of the clients' bytes, sent and received, that went over paths to backends */
  backends_share: number;
  /** First and third quartile of the runs */
  quartiles: Record<'primary_cpu_s' | 'backends_cpu_s' | 'wall_s', [number, number]>;
  runs: number;
}

export interface RealBackends {
  cpu: CpuCell[];
  uploads: CpuCell[];
  skipped: { delivery: Delivery; reason: string }[];
}

type Direction = ClientTask['direction'];
type Protocol = ClientTask['protocol'];

/** One run */
export type Sample = Omit<CpuCell, 'delivery' | 'backends' | 'quartiles' | 'runs'>;

/** One combination to measure, and its runs */
export interface Plan {
  direction: Direction;
  delivery: Delivery;
  protocol: Protocol;
  backends: number;
  samples: Sample[];
}

/**
 * Measures the work of a primary and its backends, for clients that ask the backends, and for clients that the primary
 * answers itself. @throws UserError
 */
export async function measureRealBackends(
  options: RealBackendsOptions,
  progress: (line: string) => void,
): Promise<RealBackends> {
  const plans: Plan[] = [];
  const { command, reason } = await findPresentCaddy();
  const started = performance.now();
  for (const [index, backends] of options.backends.entries()) {
    const sizes = [options.bytes];
    await withBackendSite({ backends, sizes, deliveries: ['direct', 'proxy'], caddyCommand: command }, async (site) => {
      const deliveries: Delivery[] = ['direct', 'proxy', ...(site.caddy ? (['caddy'] as const) : [])];
      const own = (['download', 'upload'] as const).flatMap((direction) =>
        deliveries.map((delivery): Plan => ({ direction, delivery, protocol: 'h3', backends, samples: [] })),
      );
      plans.push(...own);
      const total = own.length * (options.runs + 1) * options.backends.length;
      let done = own.length * (options.runs + 1) * index;
      for (let run = 0; run <= options.runs; run += 1) {
        for (const plan of own) {
          const sample = await measureDelivery(site, plan, run === 0 ? shortened(options) : options);
          if (run > 0) plan.samples.push(sample);
          done += 1;
          progress(
            `${progressBar(done, total, (performance.now() - started) / 1000)}: ${backends} ${backends === 1 ? 'backend' : 'backends'}, ${plan.direction} ${plan.delivery}: primary ${round(sample.primary_cpu_s, 3)} s, backends ${round(sample.backends_cpu_s, 3)} s`,
          );
        }
      }
    });
  }
  const cells = (direction: Direction): CpuCell[] =>
    plans.filter((plan) => plan.direction === direction).map(summarize);
  return {
    cpu: cells('download'),
    uploads: cells('upload'),
    skipped: reason === undefined ? [] : [{ delivery: 'caddy', reason }],
  };
}

/** Returns the options of a first round, which does not count, since programs that have not run yet are slower. */
export const shortened = <Options extends { requests: number }>(options: Options): Options => ({
  ...options,
  requests: Math.ceil(options.requests / 10),
});

/** Starts a site in a directory of its own, and stops it when the work is done or has failed. @throws UserError */
export async function withBackendSite<Measured>(
  { backends, ...options }: SiteOptions & { backends: number },
  work: (site: BackendSite) => Promise<Measured>,
): Promise<Measured> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-backends-'));
  try {
    const site = await startBackendSite(directory, backends, options);
    try {
      return await work(site);
    } finally {
      await site.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Measures one run. `cancel` ends it early. @throws UserError when a client fails or ends early */
export async function measureDelivery(
  site: BackendSite,
  plan: Omit<Plan, 'samples'>,
  options: Pick<RealBackendsOptions, 'clients' | 'requests' | 'bytes'>,
  cancel?: AbortSignal,
): Promise<Sample> {
  const { pid: primary, port } = proxyOf(site, plan.delivery);
  const readings: { primary: number; backends: number; at: number }[] = [];
  const read = (): void =>
    void readings.push({
      primary: processorSeconds([primary]),
      backends: processorSeconds(site.backends),
      at: performance.now(),
    });
  const stages = { starting: read, connected: read, done: read };
  const results = await runClients(options.clients, taskFor(port, plan, options), stages, cancel);
  const [start, connected, end] = readings as [(typeof readings)[0], (typeof readings)[0], (typeof readings)[0]];
  return {
    primary_cpu_s: end.primary - start.primary,
    backends_cpu_s: end.backends - start.backends,
    wall_s: (end.at - connected.at) / 1000,
    connecting_cpu_s: connected.primary - start.primary,
    backends_share: mean(results.map(({ backendsShare }) => backendsShare)),
  };
}

/** Returns what the clients talk to. @throws RangeError when the site does not have it */
function proxyOf(site: BackendSite, delivery: Delivery): { pid: number; port: number } {
  if (delivery === 'direct' || delivery === 'proxy') return { pid: site.primary, port: site.port };
  const other = site[delivery];
  if (!other) throw new RangeError(`the site has no ${delivery}`);
  return other;
}

/**
 * Returns the task of the clients. Proxied clients do not speak Multi-End, so the primary has no hand-overs for them.
 */
export function taskFor(
  port: number,
  { direction, delivery, protocol, backends }: Omit<Plan, 'samples'>,
  { requests, bytes }: Pick<RealBackendsOptions, 'requests' | 'bytes'>,
): ClientTask {
  const route = delivery === 'direct' ? 'direct' : 'proxy';
  const whole =
    direction === 'download'
      ? { requests, bytes }
      : { requests: Math.ceil(requests / UPLOAD_FACTOR), bytes: bytes * UPLOAD_FACTOR };
  return {
    ...whole,
    direction,
    path: direction === 'download' ? paths.download(route, bytes) : paths.upload(route),
    backends: delivery === 'direct' ? backends : 0,
    port,
    protocol,
  };
}

function summarize({ delivery, backends, samples }: Plan): CpuCell {
  const of = (name: keyof Sample): Distribution => distribution(samples.map((sample) => sample[name]));
  const middle = (name: keyof Sample): number => round(of(name).median);
  const quartiles = (name: keyof Sample): [number, number] =>
    of(name).quartiles.map((value) => round(value)) as [number, number];
  return {
    delivery,
    backends,
    primary_cpu_s: middle('primary_cpu_s'),
    backends_cpu_s: middle('backends_cpu_s'),
    wall_s: middle('wall_s'),
    connecting_cpu_s: middle('connecting_cpu_s'),
    backends_share: middle('backends_share'),
    quartiles: {
      primary_cpu_s: quartiles('primary_cpu_s'),
      backends_cpu_s: quartiles('backends_cpu_s'),
      wall_s: quartiles('wall_s'),
    },
    runs: samples.length,
  };
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { progressBar } from '../../measure/progress_bar.js';
import { distribution, mean, round, type Distribution } from '../../measure/statistics.js';
import type { ClientTask } from './client_messages.js';
import { runClients } from './clients.js';
import { paths, startEndSite, type EndSite, type SheafDelivery } from './end_site.js';
import { processorSeconds } from '../../process/processor_time.js';

/** An upload is so many downloads long, and there are so many fewer: 10 MB where downloads have 500 KB. */
const UPLOAD_FACTOR = 20;

export interface RealEndsOptions {
  runs: number;
  clients: number;
  /** Downloads of each client, one after the other. */
  requests: number;
  /** Of a download. */
  bytes: number;
  /** How many ends the sites have that are measured, one after the other. */
  ends: readonly number[];
}

export type Delivery = SheafDelivery | 'caddy';

/** Medians of the runs. */
export interface CpuCell {
  delivery: Delivery;
  ends: number;
  /** Processor time of the primary, or of Caddy in its place: user and system, connecting included. */
  primary_cpu_s: number;
  /** Of all ends together. */
  ends_cpu_s: number;
  /** From the first request to the last byte. */
  wall_s: number;
  /** What of `primary_cpu_s` the handshakes and hand-overs took. */
  connecting_cpu_s: number;
  /** Of the bytes that clients sent and received, the share that went between them and ends. */
  ends_share: number;
  /** First and third quartile of the runs. */
  quartiles: Record<'primary_cpu_s' | 'ends_cpu_s' | 'wall_s', [number, number]>;
  runs: number;
}

export interface RealEnds {
  cpu: CpuCell[];
  uploads: CpuCell[];
  skipped: { delivery: Delivery; reason: string }[];
}

type Direction = ClientTask['direction'];

type Sample = Omit<CpuCell, 'delivery' | 'ends' | 'quartiles' | 'runs'>;

interface Plan {
  direction: Direction;
  delivery: Delivery;
  ends: number;
  samples: Sample[];
}

/** Work of a primary and its ends for clients that ask the ends, and for clients that it answers itself. @throws UserError */
export async function measureRealEnds(options: RealEndsOptions, progress: (line: string) => void): Promise<RealEnds> {
  const plans: Plan[] = [];
  let caddyMissing = false;
  const started = performance.now();
  for (const [index, ends] of options.ends.entries()) {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-ends-'));
    try {
      const site = await startEndSite(directory, ends, options.bytes);
      try {
        const { caddy } = site;
        caddyMissing = caddy === undefined;
        const deliveries: Delivery[] = ['direct', 'proxy', ...(caddy ? (['caddy'] as const) : [])];
        const own = (['download', 'upload'] as const).flatMap((direction) => deliveries.map((delivery): Plan => ({ direction, delivery, ends, samples: [] })));
        plans.push(...own);
        const total = own.length * (options.runs + 1) * options.ends.length;
        let done = own.length * (options.runs + 1) * index;
        for (let run = 0; run <= options.runs; run += 1) {
          for (const plan of own) {
            // The first round is short: programs that have not run yet are slower.
            const sample = await measureOnce(site, plan, run === 0 ? { ...options, requests: Math.ceil(options.requests / 10) } : options);
            if (run > 0) plan.samples.push(sample);
            done += 1;
            progress(`${progressBar(done, total, (performance.now() - started) / 1000)}: ${ends} ${ends === 1 ? 'end' : 'ends'}, ${plan.direction} ${plan.delivery}: primary ${round(sample.primary_cpu_s, 3)} s, ends ${round(sample.ends_cpu_s, 3)} s`);
          }
        }
      } finally {
        await site.stop();
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
  const cells = (direction: Direction): CpuCell[] => plans.filter((plan) => plan.direction === direction).map(summarize);
  return { cpu: cells('download'), uploads: cells('upload'), skipped: caddyMissing ? [{ delivery: 'caddy', reason: 'not installed (apt-get install caddy)' }] : [] };
}

async function measureOnce(site: EndSite, plan: Plan, options: RealEndsOptions): Promise<Sample> {
  const primary = plan.delivery === 'caddy' ? (site.caddy?.pid ?? 0) : site.primary;
  const readings: { primary: number; ends: number; at: number }[] = [];
  const read = (): void => void readings.push({ primary: processorSeconds([primary]), ends: processorSeconds(site.ends), at: performance.now() });
  const results = await runClients(options.clients, taskFor(site, plan, options), { starting: read, connected: read, done: read });
  const [start, connected, end] = readings as [(typeof readings)[0], (typeof readings)[0], (typeof readings)[0]];
  return {
    primary_cpu_s: end.primary - start.primary,
    ends_cpu_s: end.ends - start.ends,
    wall_s: (end.at - connected.at) / 1000,
    connecting_cpu_s: connected.primary - start.primary,
    ends_share: mean(results.map(({ endsShare }) => endsShare)),
  };
}

/** Clients that are to be proxied do not speak Multi-End: the primary has no work with hand-overs then. */
function taskFor(site: EndSite, { direction, delivery, ends }: Plan, { requests, bytes }: RealEndsOptions): ClientTask {
  const route = delivery === 'direct' ? 'direct' : 'proxy';
  const whole = direction === 'download' ? { requests, bytes } : { requests: Math.ceil(requests / UPLOAD_FACTOR), bytes: bytes * UPLOAD_FACTOR };
  return { ...whole, direction, path: paths[direction](route), ends: delivery === 'direct' ? ends : 0, port: delivery === 'caddy' ? (site.caddy?.port ?? 0) : site.port };
}

function summarize({ delivery, ends, samples }: Plan): CpuCell {
  const of = (name: keyof Sample): Distribution => distribution(samples.map((sample) => sample[name]));
  const middle = (name: keyof Sample): number => round(of(name).median);
  const quartiles = (name: keyof Sample): [number, number] => of(name).quartiles.map((value) => round(value)) as [number, number];
  return {
    delivery,
    ends,
    primary_cpu_s: middle('primary_cpu_s'),
    ends_cpu_s: middle('ends_cpu_s'),
    wall_s: middle('wall_s'),
    connecting_cpu_s: middle('connecting_cpu_s'),
    ends_share: middle('ends_share'),
    quartiles: { primary_cpu_s: quartiles('primary_cpu_s'), ends_cpu_s: quartiles('ends_cpu_s'), wall_s: quartiles('wall_s') },
    runs: samples.length,
  };
}

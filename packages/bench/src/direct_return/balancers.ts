import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { paths, type BackendSite } from '../multi_end/real/backend_site.js';
import { underQuota } from '../process/processor_quota.js';
import { Load } from './load/load.js';
import type { LoadTask } from './load/load_messages.js';

/** `return`: the backends send. `proxy`: the same gateway sends. `caddy`: Caddy is in its place. */
export type Delivery = 'proxy' | 'return' | 'caddy';

/** One combination to measure */
export interface Plan {
  delivery: Delivery;
  /** Bytes of a response */
  bytes: number;
  /** Packets for each acknowledgement of the clients */
  client_ack_every: number;
  /** Share of one processor that the balancer may use; 1: not limited */
  quota: number;
}

export interface LoadOptions {
  /** Length of the measurement in seconds, after a warm-up that is as long at most */
  seconds: number;
  /** Connections of the client */
  connections: number;
  /** Requests at a time on each connection; fewer for large responses */
  streams: number;
}

/** One run */
export interface Sample {
  requests_per_s: number;
  /** Bytes of bodies, in Gbit/s */
  goodput_gbps: number;
  /** Processor time of the gateway, or of Caddy in its place: user and system, without connecting */
  balancer_cpu_s: number;
  gbit_per_cpu_s: number;
  /** Share of the permitted processor time that the balancer used */
  busy: number;
  /** What the gateway itself did; undefined for other proxies */
  gateway: GatewayWork | undefined;
}

/** Counts between two readings of the gateway's status */
export interface GatewayWork {
  /** Responses that were proxied although a backend might have sent them, or that a backend did not send to the end */
  fell_back: number;
  /** Why, with commas between */
  reasons: string;
  per_request: PerRequest;
}

export interface PerRequest {
  datagrams_received: number;
  datagrams_sent: number;
  /** To clients, in bytes of UDP payload */
  bytes_sent: number;
  javascript_calls: number;
}

const transportSchema = z.object({
  datagramsReceived: z.number(),
  datagramsSent: z.number(),
  bytesSent: z.number(),
  javascriptCalls: z.number(),
});
const countsSchema = z.record(z.string(), z.number());
const statusSchema = z.object({
  transport: transportSchema,
  backends: z.array(z.object({ deliveries: z.object({ fallbacks: countsSchema, lost: countsSchema }) })),
});
type Status = z.output<typeof statusSchema> & {
  /** When it came, in milliseconds */
  at: number;
};

/** Bytes of bodies that all connections ask for at one time, at most, if one request each is not more: what fits into a warm-up. */
const MOST_BYTES = 32_000_000;
/** Shares of a run's length for which clients ask before it begins: at least, at most, and between two looks */
const WARM_UP = { least: 0.25, most: 1, look: 0.05 };

/** Measures one run. @throws UserError when a client fails, or gets another response than it should, or is cancelled */
export async function measureBalancer(
  site: BackendSite,
  plan: Plan,
  options: LoadOptions,
  cancel?: AbortSignal,
): Promise<Sample> {
  const work = async (load: Load): Promise<Sample> => {
    const { isGateway } = balancerOf(site, plan.delivery);
    const before = isGateway ? await statusOf(site) : undefined;
    const start = await load.read();
    await sleep(options.seconds * 1000);
    const end = await load.read();
    const after = before && (await statusOf(site));
    const [seconds, used] = [end.seconds - start.seconds, end.processor_s - start.processor_s];
    const requests = (end.bytes - start.bytes) / plan.bytes;
    const gbit = ((end.bytes - start.bytes) * 8) / 1e9;
    return {
      requests_per_s: requests / seconds,
      goodput_gbps: gbit / seconds,
      balancer_cpu_s: used,
      gbit_per_cpu_s: gbit / used,
      busy: used / seconds / plan.quota,
      gateway: before && after && workBetween(before, after, requests / seconds),
    };
  };
  return withLoad(site, plan, options, work, cancel);
}

/** Lets clients ask before and during the work. `cancel` ends it. @throws UserError */
export async function withLoad<Result>(
  site: BackendSite,
  plan: Plan,
  options: LoadOptions,
  work: (load: Load) => Promise<Result>,
  cancel?: AbortSignal,
): Promise<Result> {
  const { port, pid } = balancerOf(site, plan.delivery);
  const task = taskFor(port, plan, options);
  const load = await Load.connect({ ...task, watched: pid });
  const onCancel = (): void => void load.stop();
  cancel?.addEventListener('abort', onCancel, { once: true });
  try {
    return await underQuota(plan.quota, pid, async () => {
      await load.ask();
      await warmUp(load, task, options.seconds);
      return work(load);
    });
  } finally {
    cancel?.removeEventListener('abort', onCancel);
    await load.end();
  }
}

/** Waits until what clients asked for at first has come, so that requests begin and end at all times from then on. */
async function warmUp(
  load: Load,
  { connections, streams, bytes }: Omit<LoadTask, 'watched'>,
  of: number,
): Promise<void> {
  const asked = connections * streams * bytes;
  await sleep(of * WARM_UP.least * 1000);
  const { seconds } = await load.read();
  for (
    let now = await load.read();
    now.bytes < asked && now.seconds - seconds < of * (WARM_UP.most - WARM_UP.least);
    now = await load.read()
  )
    await sleep(of * WARM_UP.look * 1000);
}

/** Returns what clients of a cell do. */
export function taskFor(
  port: number,
  { delivery, bytes, client_ack_every }: Plan,
  { connections, streams }: Pick<LoadOptions, 'connections' | 'streams'>,
): Omit<LoadTask, 'watched'> {
  return {
    port,
    path: paths.download(delivery === 'return' ? 'return' : 'proxy', bytes),
    bytes,
    connections,
    streams: Math.max(1, Math.min(streams, Math.floor(MOST_BYTES / connections / bytes))),
    packetsPerAck: client_ack_every,
  };
}

/** Returns what the clients talk to. @throws RangeError when the site does not have it */
export function balancerOf(site: BackendSite, delivery: Delivery): { pid: number; port: number; isGateway: boolean } {
  if (delivery !== 'caddy') return { pid: site.primary, port: site.port, isGateway: true };
  if (!site.caddy) throw new RangeError('the site has no Caddy');
  return { pid: site.caddy.pid, port: site.caddy.port, isGateway: false };
}

async function statusOf(site: BackendSite): Promise<Status> {
  const response = await fetch(`http://127.0.0.1:${site.admin}/status`);
  return { ...statusSchema.parse(await response.json()), at: performance.now() };
}

/** The gateway goes on while its status is read. So its work is divided by the requests of the time between both readings. */
function workBetween(before: Status, after: Status, requestsPerSecond: number): GatewayWork {
  const requests = (requestsPerSecond * (after.at - before.at)) / 1000;
  const of = (name: keyof Status['transport']): number => (after.transport[name] - before.transport[name]) / requests;
  const [earlier, later] = [fallbacksOf(before), fallbacksOf(after)];
  const increased = [...later].filter(([reason, count]) => count > (earlier.get(reason) ?? 0));
  return {
    fell_back: increased.reduce((sum, [reason, count]) => sum + count - (earlier.get(reason) ?? 0), 0),
    reasons: increased.map(([reason]) => reason).join(', '),
    per_request: {
      datagrams_received: of('datagramsReceived'),
      datagrams_sent: of('datagramsSent'),
      bytes_sent: of('bytesSent'),
      javascript_calls: of('javascriptCalls'),
    },
  };
}

/** Returns how many responses fell back, by their reasons. */
function fallbacksOf({ backends }: Status): Map<string, number> {
  const sums = new Map<string, number>();
  const all = backends.flatMap(({ deliveries: { fallbacks, lost } }) => [fallbacks, lost]);
  for (const [reason, count] of all.flatMap((counts) => Object.entries(counts)))
    sums.set(reason, (sums.get(reason) ?? 0) + count);
  return sums;
}

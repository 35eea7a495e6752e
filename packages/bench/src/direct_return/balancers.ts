import { z } from 'zod';
import { paths, type BackendSite } from '../multi_end/real/backend_site.js';
import { finerProcessorSeconds } from '../process/processor_time.js';
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
}

export interface LoadOptions {
  /** Length of the load in seconds. Requests that are open then are finished, and count. */
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
type Status = z.output<typeof statusSchema>;

/** Bytes of bodies that a connection asks for at one time, at most. Else a run would hardly end. */
const MOST_BYTES = 8_000_000;

/** Measures one run. @throws UserError when a client fails, or gets another response than it should, or is cancelled */
export async function measureBalancer(
  site: BackendSite,
  plan: Plan,
  options: LoadOptions,
  cancel?: AbortSignal,
): Promise<Sample> {
  const work = async (load: Load): Promise<Sample> => {
    const { pid, isGateway } = balancerOf(site, plan.delivery);
    const before = isGateway ? await statusOf(site) : undefined;
    const cpu = finerProcessorSeconds([pid]);
    const { requests, seconds } = await load.run(options.seconds);
    const used = finerProcessorSeconds([pid]) - cpu;
    const gbit = (requests * plan.bytes * 8) / 1e9;
    return {
      requests_per_s: requests / seconds,
      goodput_gbps: gbit / seconds,
      balancer_cpu_s: used,
      gbit_per_cpu_s: gbit / used,
      gateway: before && workBetween(before, await statusOf(site), requests),
    };
  };
  return withLoad(site, plan, options, work, cancel);
}

/** Opens the connections of a client, and lets them find out their windows before the work. `cancel` ends it. @throws UserError */
export async function withLoad<Result>(
  site: BackendSite,
  plan: Plan,
  options: LoadOptions,
  work: (load: Load) => Promise<Result>,
  cancel?: AbortSignal,
): Promise<Result> {
  const load = await Load.connect(taskFor(balancerOf(site, plan.delivery).port, plan, options));
  const onCancel = (): void => void load.stop();
  cancel?.addEventListener('abort', onCancel, { once: true });
  try {
    await load.run(options.seconds / 10);
    return await work(load);
  } finally {
    cancel?.removeEventListener('abort', onCancel);
    await load.stop();
  }
}

/** Returns what clients of a cell do. */
export function taskFor(
  port: number,
  { delivery, bytes, client_ack_every }: Plan,
  { connections, streams }: Pick<LoadOptions, 'connections' | 'streams'>,
): LoadTask {
  return {
    port,
    path: paths.download(delivery === 'return' ? 'return' : 'proxy', bytes),
    bytes,
    connections,
    streams: Math.max(1, Math.min(streams, Math.floor(MOST_BYTES / bytes))),
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
  return statusSchema.parse(await response.json());
}

function workBetween(before: Status, after: Status, requests: number): GatewayWork {
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

import { z } from 'zod';
import {
  measureBalancer,
  taskFor,
  type Delivery,
  type LoadOptions,
  type Plan,
  type Sample,
} from '../../direct_return/balancers.js';
import { permittedQuotas } from '../../process/processor_quota.js';
import { whyNotSampled } from '../../direct_return/profile/perf.js';
import { profileBalancer } from '../../direct_return/profile_outcome.js';
import { withRunInSite } from '../../direct_return/run_in.js';
import { WORK } from '../../direct_return/profile/shares.js';
import { findCaddy } from '../../http/caddy.js';
import { caddyfile } from '../../http/gateways.js';
import {
  proxyDirectives,
  siteConfiguration,
  upstreamsOf,
  type BackendSite,
  type SheafDelivery,
} from '../../multi_end/real/backend_site.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { addonSources, armsOf, parseSettings, prefixed, runnerModule, type Measured, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Bytes of the responses */
  sizes: z.array(z.number().int().min(1_000)).min(1),
  /** Requests at a time on each connection */
  requests: z.array(z.number().int().min(1)).min(1),
  connections: z.number().int().min(1),
  backends: z.number().int().min(1).max(8),
  /** Packets for each acknowledgement of the client: several numbers, each a place of its own */
  client_ack_every: z.array(z.number().int().min(2)).min(1),
  /** Shares of a processor that the balancer may use, each a place of its own; 1: not limited */
  quotas: z.array(z.number().min(0.01).max(1)).min(1),
  /** Length of each load */
  seconds: z.number().min(0.1),
  /** `load`: goodput and processor time; `profile`: what the processor does */
  measures: z.enum(['load', 'profile']),
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({ delivery: z.enum(['proxy', 'return', 'caddy']) });
interface Arm {
  arm: string;
  delivery: Delivery;
}

/** One place of a round */
interface Place {
  bytes: number;
  requests: number;
  client_ack_every: number;
  quota: number;
}

const deliveries: readonly SheafDelivery[] = ['proxy', 'return'];
/** Share of its length that a quick run has, and that the first load of a place has, which does not count */
const QUICK = 0.15;
const FIRST = 0.25;

const valuesOf = ({ gateway, busy, ...sample }: Sample): RoundSample['values'] => ({
  ...sample,
  busy_percent: 100 * busy,
  ...(gateway && { fell_back: gateway.fell_back, gateway_bytes_sent: gateway.per_request.bytes_sent }),
});

/**
 * Measures what a gateway works when its backends answer clients themselves, next to proxying by itself and by Caddy, all
 * processes of their own on loopback.
 */
export const directReturnProcesses: Runner = {
  name: 'direct-return-processes',
  realTime: true,
  seeded: false,
  sources: [runnerModule('direct_return_processes.ts'), ...addonSources],
  settings(setup, arm) {
    const { delivery, ...options } = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const backends = Array.from({ length: options.backends }, (_, index) => ({
      name: `backend${index + 1}`,
      listen: 0,
      backbone: 0,
      http: 0,
    }));
    const site = { port: 0, admin: 0, backbone: 0, backends, deliveries, sink: 'sink' };
    const { site: gateway, ...nodes } = siteConfiguration(site).nodes;
    const [bytes = 0] = options.sizes;
    const [client_ack_every = 0] = options.client_ack_every;
    const [quota = 1] = options.quotas;
    const plan = { delivery, bytes, client_ack_every, quota };
    const task = taskFor(0, plan, { connections: options.connections, streams: Math.max(...options.requests) });
    return {
      delivery,
      ...options,
      'configuration.proxy': delivery === 'caddy' ? caddyfile(0, proxyDirectives(upstreamsOf(backends))) : gateway,
      'configuration.backends': nodes,
      ...prefixed('client', task),
    };
  },
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const usesCaddy = arms.some(({ delivery }) => delivery === 'caddy');
    const { command, reason } = usesCaddy ? await findCaddy(context.progress) : {};
    const skipped = reason === undefined ? [] : [`caddy: ${reason}`];
    const missing = options.measures === 'profile' ? await whyNotSampled() : undefined;
    if (missing !== undefined) return { cells: [], versions: {}, skipped: [missing] };
    const { permitted, refused } = permittedQuotas(options.quotas);
    skipped.push(...refused.map(({ what, reason: why }) => `${what}: ${why}`));
    const places = placesOf({ ...options, quotas: permitted });
    const { sizes, backends } = options;
    const seconds = options.seconds * (context.quick ? QUICK : 1);
    const asked = { seconds, backends, sizes, deliveries, caddyCommand: command };
    const work = async (site: BackendSite): Promise<Measured> => {
      const versions = usesCaddy ? { caddy: site.caddy?.version ?? 'none' } : {};
      const measured = arms.filter(({ delivery }) => delivery !== 'caddy' || site.caddy);
      const measure = measuring(site, options, context.stop);
      for (const place of places)
        for (const arm of measured) if (!context.stop.aborted) await measure(arm, place, seconds * FIRST);
      const finished = await finishRounds(context, versions, async (inTurn) => {
        const samples: RoundSample[] = [];
        for (const place of places)
          for (const arm of inTurn(measured)) samples.push(await measure(arm, place, seconds));
        return samples;
      });
      return { ...finished, skipped };
    };
    return withRunInSite(asked, context.progress, work, context.stop);
  },
};

const placesOf = ({ sizes, requests, client_ack_every, quotas }: Options): Place[] =>
  sizes.flatMap((bytes) =>
    requests.flatMap((number) =>
      client_ack_every.flatMap((every) =>
        quotas.map((quota) => ({ bytes, requests: number, client_ack_every: every, quota })),
      ),
    ),
  );

function measuring(
  site: BackendSite,
  { connections, measures }: Options,
  stop: AbortSignal,
): (arm: Arm, place: Place, seconds: number) => Promise<RoundSample> {
  return async ({ arm, delivery }, { requests, ...place }, seconds) => {
    const plan: Plan = { delivery, ...place };
    const load: LoadOptions = { seconds, connections, streams: requests };
    const at = { requests, ...place };
    if (measures === 'load') return { arm, at, values: valuesOf(await measureBalancer(site, plan, load, stop)) };
    const { shares } = await profileBalancer(site, plan, load, stop);
    return { arm, at, values: Object.fromEntries(WORK.map((work) => [`${work}_percent`, 100 * shares[work]])) };
  };
}

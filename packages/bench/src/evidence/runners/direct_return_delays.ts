import { join } from 'node:path';
import { z } from 'zod';
import { DelayClient } from '../../direct_return/delays/delay_client.js';
import type { DelayTask } from '../../direct_return/delays/delay_messages.js';
import { paths, siteConfiguration, type BackendSite } from '../../multi_end/real/backend_site.js';
import { withBackendSite } from '../../multi_end/real/real_backends.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { addonSources, armsOf, parseSettings, prefixed, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Background loads: shares of the requests that the gateway proxies at most, all processes on this machine together */
  background: z.array(z.number().min(0).max(1)).min(1),
  backends: z.number().int().min(1).max(8),
  /** Measured requests per second */
  rate: z.number().positive(),
  seconds: z.number().positive(),
});

const settingsSchema = z.strictObject({ delivery: z.enum(['proxy', 'return']) });
type Delivery = z.output<typeof settingsSchema>['delivery'];

/** Script of the server behind the backends, which is compiled beside this module's folder */
const clockScript = join(import.meta.dirname, '..', '..', 'direct_return', 'delays', 'clock_server.js');
const deliveries: readonly Delivery[] = ['proxy', 'return'];
/** Share of its length that a quick run has, and the search for the most requests */
const QUICK = 0.2;
const SEARCH = 0.5;
/** Share of its length that a first load has, which does not count */
const WARM_UP = 0.25;
/** Connections of the background load, and requests that it has open at most */
const BACKGROUND = { connections: 8, most_open: 64 };
const MEASURED = { connections: 1, most_open: 64 };

/** Measures one-way delays of small requests while others load the gateway, all processes of their own on loopback. */
export const directReturnDelays: Runner = {
  name: 'direct-return-delays',
  realTime: true,
  seeded: false,
  sources: [
    runnerModule('direct_return_delays.ts'),
    'packages/bench/src/direct_return/delays/clock_server.ts',
    ...addonSources,
  ],
  settings(setup, arm) {
    const { delivery, ...options } = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const backends = Array.from({ length: options.backends }, (_, index) => ({
      name: `backend${index + 1}`,
      listen: 0,
      backbone: 0,
      http: 0,
    }));
    const site = { port: 0, admin: 0, backbone: 0, backends, deliveries, sink: 'sink', clock: 'clock' };
    return {
      delivery,
      ...options,
      configuration: siteConfiguration(site).nodes,
      ...prefixed('client', taskFor(0, delivery, { rate: options.rate, ...MEASURED })),
    };
  },
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const seconds = options.seconds * (context.quick ? QUICK : 1);
    const site = { backends: options.backends, sizes: [], deliveries, caddyCommand: undefined, clockScript };
    return withBackendSite(site, async ({ port }) => {
      const finished = await finishRounds(context, {}, async (inTurn) => {
        const most = await mostRequests(port, seconds * SEARCH, context.stop);
        const samples: RoundSample[] = [];
        for (const background of options.background)
          for (const { arm, delivery } of inTurn(arms)) {
            const rates = { backgroundRate: background * most, rate: options.rate, seconds };
            samples.push({ arm, at: { background }, values: await measure(port, delivery, rates, context.stop) });
          }
        return samples;
      });
      return { ...finished, skipped: [] };
    });
  },
};

const taskFor = (
  port: BackendSite['port'],
  delivery: Delivery,
  load: Pick<DelayTask, 'rate' | 'connections' | 'most_open'>,
): DelayTask => ({ port, path: paths.clock(delivery), ...load });

/** Returns how many requests per second the gateway proxies when the client always has others open. */
const mostRequests = (port: number, seconds: number, stop: AbortSignal): Promise<number> =>
  withClients([taskFor(port, 'proxy', { rate: 0, ...BACKGROUND })], stop, async ([client]) => {
    await client?.run(seconds / 2);
    const delays = await client?.run(seconds);
    return (delays?.requests ?? 0) / seconds;
  });

/** Measures delays while a client of its own makes background requests of the same kind. */
function measure(
  port: number,
  delivery: Delivery,
  { backgroundRate, rate, seconds }: { backgroundRate: number; rate: number; seconds: number },
  stop: AbortSignal,
): Promise<RoundSample['values']> {
  const tasks = [
    taskFor(port, delivery, { rate, ...MEASURED }),
    ...(backgroundRate > 0 ? [taskFor(port, delivery, { rate: backgroundRate, ...BACKGROUND })] : []),
  ];
  return withClients(tasks, stop, async (clients) => {
    await Promise.all(clients.map((client) => client.run(seconds * WARM_UP)));
    const [measured, background] = await Promise.all(clients.map((client) => client.run(seconds)));
    if (!measured) throw new RangeError('no client');
    const { requests, returned, up_ms, down_ms, round_trip_ms } = measured;
    return {
      up_ms,
      down_ms,
      round_trip_ms,
      returned_share: returned / requests,
      background_per_s: (background?.requests ?? 0) / seconds,
      background_left_out: background?.left_out ?? 0,
    };
  });
}

/** Starts clients, and stops them when the work is done, has failed, or is cancelled. @throws UserError */
async function withClients<Result>(
  tasks: readonly DelayTask[],
  cancel: AbortSignal,
  work: (clients: readonly DelayClient[]) => Promise<Result>,
): Promise<Result> {
  const clients: DelayClient[] = [];
  const stopAll = (): Promise<unknown> => Promise.all(clients.map((client) => client.stop()));
  const onCancel = (): void => void stopAll();
  cancel.addEventListener('abort', onCancel, { once: true });
  try {
    for (const task of tasks) clients.push(await DelayClient.connect(task));
    return await work(clients);
  } finally {
    cancel.removeEventListener('abort', onCancel);
    await stopAll();
  }
}

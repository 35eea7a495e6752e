import { z } from 'zod';
import { findCaddy } from '../../http/caddy.js';
import { findNginx, whatNginxLacks } from '../../http/nginx.js';
import type { SiteOptions } from '../../multi_end/real/backend_site.js';
import { deliverySettings } from '../../multi_end/real/delivery_settings.js';
import {
  measureDelivery,
  shortened,
  withBackendSite,
  type Delivery,
  type Plan,
  type Sample,
} from '../../multi_end/real/real_backends.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { addonSources, armsOf, parseSettings, prefixed, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  clients: z.number().int().min(1).max(64),
  /** Requests of each client, one after the other */
  requests: z.number().int().min(1),
  /** Bytes of a response */
  bytes: z.number().int().min(1_000),
  /** Number of backends of the site */
  backends: z.number().int().min(1).max(8),
});

const settingsSchema = z.strictObject({
  delivery: z.enum(['direct', 'proxy', 'caddy', 'nginx']),
  /** Protocol that the clients speak */
  protocol: z.enum(['h3', 'h2']),
});
type ArmSettings = z.output<typeof settingsSchema>;

const planOf = (delivery: Delivery, protocol: ArmSettings['protocol']): Omit<Plan, 'samples' | 'backends'> => ({
  direction: 'download',
  delivery,
  protocol,
});

const valuesOf = ({ primary_cpu_s, backends_cpu_s, connecting_cpu_s, wall_s }: Sample): RoundSample['values'] => ({
  primary_percent: (100 * primary_cpu_s) / wall_s,
  backends_percent: (100 * backends_cpu_s) / wall_s,
  primary_cpu_s,
  backends_cpu_s,
  total_cpu_s: primary_cpu_s + backends_cpu_s,
  connecting_cpu_s,
});

/**
 * Measures the processor time of a primary and its backends, all processes of their own on loopback. Utilization is in
 * percent of one processor.
 */
export const multiEndProcesses: Runner = {
  name: 'multi-end-processes',
  realTime: true,
  seeded: false,
  sources: [runnerModule('multi_end_processes.ts'), ...addonSources, 'packages/bench/peers/nginx'],
  settings(setup, arm) {
    const settings = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const plan = { ...planOf(settings.delivery, settings.protocol), backends: settings.backends };
    const { proxy, backends, task } = deliverySettings(plan, settings);
    return {
      ...settings,
      'configuration.proxy': proxy,
      'configuration.backends': backends,
      ...prefixed('client', task),
    };
  },
  async run(setup, context) {
    const { backends, ...task } = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const uses = (name: Delivery): boolean => arms.some(({ delivery }) => delivery === name);
    const { command, reason } = uses('caddy') ? await findCaddy(context.progress) : {};
    const skipped = reason === undefined ? [] : [`caddy: ${reason}`];
    const nginx = uses('nginx') ? await findNginx(context.progress) : undefined;
    const protocols = arms.flatMap(({ delivery, protocol }) => (delivery === 'nginx' ? [protocol] : []));
    const lacking = nginx && whatNginxLacks(nginx, protocols);
    if (lacking !== undefined) skipped.push(`nginx: ${lacking}`);
    const isLacking = ({ delivery, protocol }: ArmSettings): boolean =>
      (delivery === 'caddy' && command === undefined) ||
      (delivery === 'nginx' && nginx?.reasons[protocol] !== undefined);
    const versions: Record<string, string> = {};
    const options: SiteOptions & { backends: number } = {
      backends,
      sizes: [task.bytes],
      deliveries: ['direct', 'proxy'],
      caddyCommand: command,
      ...(nginx && nginx.command !== '' && { nginx }),
    };
    return withBackendSite(options, async (site) => {
      for (const name of ['caddy', 'nginx'] as const) if (uses(name)) versions[name] = site[name]?.version ?? 'none';
      const measured = arms.filter((arm) => !isLacking(arm));
      const measure = ({ delivery, protocol }: (typeof arms)[number], what: typeof task): Promise<Sample> =>
        measureDelivery(site, { ...planOf(delivery, protocol), backends }, what, context.stop);
      for (const arm of measured) if (!context.stop.aborted) await measure(arm, shortened(task));
      const finished = await finishRounds(context, versions, async (inTurn) => {
        const samples: RoundSample[] = [];
        for (const arm of inTurn(measured))
          samples.push({ arm: arm.arm, at: { backends }, values: valuesOf(await measure(arm, task)) });
        return samples;
      });
      return { ...finished, skipped };
    });
  },
};

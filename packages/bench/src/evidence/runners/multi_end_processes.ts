import { z } from 'zod';
import { findCaddy } from '../../http/caddy.js';
import { measureDelivery, shortened, withBackendSite, type Sample } from '../../multi_end/real/real_backends.js';
import type { ResultCell } from '../results/result.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { parseSettings, runnerSources, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  clients: z.number().int().min(1).max(64),
  /** Requests of each client, one after the other */
  requests: z.number().int().min(1),
  /** Bytes of a response */
  bytes: z.number().int().min(1_000),
  /** Number of backends of the site */
  backends: z.number().int().min(1).max(8),
});

const settingsSchema = z.strictObject({ delivery: z.enum(['direct', 'proxy', 'caddy']) });

const valuesOf = ({ primary_cpu_s, backends_cpu_s, connecting_cpu_s, wall_s }: Sample): RoundSample['values'] => ({
  primary_percent: (100 * primary_cpu_s) / wall_s,
  backends_percent: (100 * backends_cpu_s) / wall_s,
  primary_cpu_s,
  backends_cpu_s,
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
  sources: [
    ...runnerSources('multi_end_processes.ts'),
    'packages/native/src',
    'packages/native/lib',
    'packages/gateway/src',
    'packages/bench/src/multi_end/real',
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { backends, ...options } = optionsSchema.parse(setup.options);
    const arms = Object.entries(setup.arms).map(([arm, { settings }]) => ({ arm, ...settingsSchema.parse(settings) }));
    const usesCaddy = arms.some(({ delivery }) => delivery === 'caddy');
    const { command, reason } = usesCaddy ? await findCaddy(context.progress) : {};
    let cells: ResultCell[] = [];
    let caddy = 'none';
    await withBackendSite({ backends, bytes: options.bytes, caddyCommand: command }, async (site) => {
      caddy = site.caddy?.version ?? caddy;
      const measured = arms.filter(({ delivery }) => delivery !== 'caddy' || site.caddy);
      const measure = (delivery: (typeof arms)[number]['delivery'], task: typeof options): Promise<Sample> =>
        measureDelivery(site, { direction: 'download', delivery, backends }, task, context.stop);
      for (const { delivery } of measured) if (!context.stop.aborted) await measure(delivery, shortened(options));
      cells = await finishRounds(context, async () => {
        const samples: RoundSample[] = [];
        for (const { arm, delivery } of measured)
          samples.push({ arm, at: { backends }, values: valuesOf(await measure(delivery, options)) });
        return samples;
      });
    });
    return { cells, versions: usesCaddy ? { caddy } : {}, skipped: reason === undefined ? [] : [`caddy: ${reason}`] };
  },
};

import { z } from 'zod';
import { samplePlans, type Delivery, type Sample } from '../../multi_end/real/real_backends.js';
import { cellsAt } from './cells.js';
import { parseSettings, runnerSources, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  clients: z.number().int().min(1).max(64),
  /** Requests of each client, one after the other */
  requests: z.number().int().min(1),
  /** Bytes of a response */
  bytes: z.number().int().min(1_000),
  /** Numbers of backends of the sites */
  backends: z.array(z.number().int().min(1).max(8)).min(1),
});

const settingsSchema = z.strictObject({ delivery: z.enum(['direct', 'proxy', 'caddy']) });

const quantities: Readonly<Record<string, (sample: Sample) => number>> = {
  primary_percent: ({ primary_cpu_s, wall_s }) => (100 * primary_cpu_s) / wall_s,
  backends_percent: ({ backends_cpu_s, wall_s }) => (100 * backends_cpu_s) / wall_s,
  primary_cpu_s: ({ primary_cpu_s }) => primary_cpu_s,
  backends_cpu_s: ({ backends_cpu_s }) => backends_cpu_s,
};

/**
 * Measures the processor time of a primary and its backends, all processes of their own on loopback. Utilization is in
 * percent of one processor.
 */
export const multiEndProcesses: Runner = {
  name: 'multi-end-processes',
  realTime: true,
  sources: [
    ...runnerSources('multi_end_processes.ts'),
    'packages/native/src',
    'packages/native/lib',
    'packages/gateway/src',
    'packages/bench/src/multi_end/real',
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, { runs, progress }) {
    const { plans, skipped } = await samplePlans({ ...optionsSchema.parse(setup.options), runs }, progress);
    const deliveries = new Map<Delivery, string>(
      Object.entries(setup.arms).map(([arm, { settings }]) => [settingsSchema.parse(settings).delivery, arm]),
    );
    const cells = plans.flatMap(({ direction, delivery, backends, samples }) => {
      const arm = deliveries.get(delivery);
      return arm === undefined || direction !== 'download'
        ? []
        : cellsAt({ arm, at: { backends } }, samples, quantities);
    });
    return { cells, versions: {}, skipped: skipped.map(({ delivery, reason }) => `${delivery}: ${reason}`) };
  },
};

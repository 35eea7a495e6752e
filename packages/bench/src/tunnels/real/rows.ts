import { z } from 'zod';
import type { MeasuredPlan } from '../../measure/measured_rounds.js';
import { distribution, round } from '../../measure/statistics.js';
import { ARM_NAMES, ARMS, type Plan, type Sample } from './plans.js';

const positive = z.number().positive();
const seconds = z.number().min(0);
const quartiles = z.tuple([z.number(), z.number()]);

/** A row of the report. Figures are medians of the runs. */
export const tunnelRowSchema = z.object({
  arm: z.enum(ARM_NAMES),
  proxy: z.enum(['sheaf', 'masque-go', 'none']),
  carrier: z.enum(['sheaf', 'masque-go', 'none']),
  clients: z.number().int().min(1),
  /** Share of one processor that the proxy may use; 1: it is not limited */
  quota: z.number().min(0).max(1),
  /** Share of its quota that the proxy used; 0 where there is none */
  busy: z.number().min(0),
  /** Bits of all downloads in a second, until the last one is complete */
  goodput_mbps: positive,
  /** Processor time for each GB of all downloads */
  proxy_cpu_s_per_gb: seconds,
  carrier_cpu_s_per_gb: seconds,
  server_cpu_s_per_gb: seconds,
  client_cpu_s_per_gb: seconds,
  proxy_rss_mib: seconds,
  quartiles: z.object({ goodput_mbps: quartiles, proxy_cpu_s_per_gb: quartiles }),
  runs: z.number().int().min(1),
  /** Runs in which not every download was complete. They have no part in the figures. */
  failed: z.number().int().min(0),
});
export type TunnelRow = z.output<typeof tunnelRowSchema>;

const perGb =
  (name: Exclude<keyof Sample, 'seconds' | 'proxy_rss_mib'>) =>
  (sample: Sample, bytes: number): number =>
    sample[name] / (bytes / 1e9);

/** Figures of one run, in which all downloads together have so many bytes */
export const figures = {
  goodput_mbps: ({ seconds: taken }: Sample, bytes: number): number => (bytes * 8) / taken / 1e6,
  proxy_cpu_s_per_gb: perGb('proxy_cpu_s'),
  carrier_cpu_s_per_gb: perGb('carrier_cpu_s'),
  server_cpu_s_per_gb: perGb('server_cpu_s'),
  client_cpu_s_per_gb: perGb('client_cpu_s'),
  proxy_rss_mib: ({ proxy_rss_mib }: Sample): number => proxy_rss_mib,
} as const;
type FigureName = keyof typeof figures;
const FIGURE_NAMES = Object.keys(figures) as FigureName[];

/** Summarizes the plans of which a run succeeded. */
export const tunnelRows = (measured: readonly MeasuredPlan<Plan, Sample>[], bytes: number): TunnelRow[] =>
  measured.filter(({ samples }) => samples.length > 0).map((each) => rowOf(each, bytes));

function rowOf({ plan, samples, failures }: MeasuredPlan<Plan, Sample>, bytes: number): TunnelRow {
  const of = (name: FigureName) => distribution(samples.map((sample) => figures[name](sample, bytes)));
  const spread = (name: FigureName): [number, number] => {
    const [low, high] = of(name).quartiles;
    return [round(low), round(high)];
  };
  return tunnelRowSchema.parse({
    ...plan,
    ...ARMS[plan.arm],
    busy: round(
      distribution(samples.map(({ proxy_cpu_s, seconds: taken }) => proxy_cpu_s / taken / plan.quota)).median,
    ),
    ...Object.fromEntries(FIGURE_NAMES.map((name) => [name, round(of(name).median)])),
    quartiles: { goodput_mbps: spread('goodput_mbps'), proxy_cpu_s_per_gb: spread('proxy_cpu_s_per_gb') },
    runs: samples.length,
    failed: failures.length,
  });
}

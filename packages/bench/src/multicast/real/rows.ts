import { z } from 'zod';
import type { MeasuredPlan } from '../../measure/measured_rounds.js';
import { distribution, round } from '../../measure/statistics.js';
import { ARM_NAMES, ARMS, type Plan, type Sample } from './plans.js';

const positive = z.number().positive();
const seconds = z.number().min(0);
const quartiles = z.tuple([z.number(), z.number()]);
const ratios = z.object({ goodput: positive, gbit_per_cpu_s: positive });

/** A row of the report. Figures are medians of the runs. */
export const multicastRowSchema = z.object({
  arm: z.enum(ARM_NAMES),
  sender: z.enum(['channel', 'unicast', 'uftp', 'norm']),
  authentication: z.enum(['signed', 'tls', 'group-key', 'none']),
  receivers: z.number().int().min(1),
  loss_percent: z.number().min(0),
  /** At which the sender sends; null: as fast as its congestion control permits */
  rate_mbps: positive.nullable(),
  /** Bits of the file in a second, until the last receiver has all of them */
  goodput_mbps: positive,
  source_cpu_s: seconds,
  /** One receiver, on average */
  receiver_cpu_s: seconds,
  /** Bits that all receivers got, for each second that source and receivers computed */
  gbit_per_cpu_s: positive,
  quartiles: z.object({ goodput_mbps: quartiles, source_cpu_s: quartiles, receiver_cpu_s: quartiles }),
  /** Packets that reached hosts without a receiver, in all runs */
  strayed: z.number().int().min(0),
  /** To unicast with as many receivers and the same loss, where that was measured */
  to_unicast: ratios.optional(),
  runs: z.number().int().min(1),
  /** Runs in which not every receiver got the file. They have no part in the figures. */
  failed: z.number().int().min(0),
});
export type MulticastRow = z.output<typeof multicastRowSchema>;

/** Figures of one run */
export const figures = {
  goodput_mbps: (sample: Sample, bytes: number): number => (bytes * 8) / sample.seconds / 1e6,
  source_cpu_s: ({ source_cpu_s }: Sample): number => source_cpu_s,
  receiver_cpu_s: ({ receivers_cpu_s }: Sample, _bytes: number, receivers: number): number =>
    receivers_cpu_s / receivers,
  gbit_per_cpu_s: ({ source_cpu_s, receivers_cpu_s }: Sample, bytes: number, receivers: number): number =>
    (bytes * 8 * receivers) / 1e9 / (source_cpu_s + receivers_cpu_s),
} as const;

/** Summarizes the plans of which a run succeeded. */
export function multicastRows(measured: readonly MeasuredPlan<Plan, Sample>[], bytes: number): MulticastRow[] {
  const rows = measured.filter(({ samples }) => samples.length > 0).map((each) => rowOf(each, bytes));
  return rows.map((row) => {
    const unicast = rows.find((other) => other.sender === 'unicast' && isSamePlace(other, row));
    return multicastRowSchema.parse(unicast && unicast !== row ? { ...row, to_unicast: ratiosTo(unicast, row) } : row);
  });
}

function rowOf({ plan, samples, failures }: MeasuredPlan<Plan, Sample>, bytes: number): MulticastRow {
  const of = (name: keyof typeof figures) =>
    distribution(samples.map((sample) => figures[name](sample, bytes, plan.receivers)));
  const middle = (name: keyof typeof figures): number => round(of(name).median);
  const spread = (name: keyof typeof figures): [number, number] => {
    const [low, high] = of(name).quartiles;
    return [round(low), round(high)];
  };
  const { sender, authentication } = ARMS[plan.arm];
  return {
    sender,
    authentication,
    ...plan,
    goodput_mbps: middle('goodput_mbps'),
    source_cpu_s: middle('source_cpu_s'),
    receiver_cpu_s: middle('receiver_cpu_s'),
    gbit_per_cpu_s: middle('gbit_per_cpu_s'),
    quartiles: {
      goodput_mbps: spread('goodput_mbps'),
      source_cpu_s: spread('source_cpu_s'),
      receiver_cpu_s: spread('receiver_cpu_s'),
    },
    strayed: samples.reduce((sum, { strayed }) => sum + strayed, 0),
    runs: samples.length,
    failed: failures.length,
  };
}

export const isSamePlace = (left: MulticastRow, right: MulticastRow): boolean =>
  left.receivers === right.receivers && left.loss_percent === right.loss_percent;

export const ratiosTo = (other: MulticastRow, row: MulticastRow): z.output<typeof ratios> => ({
  goodput: round(row.goodput_mbps / other.goodput_mbps),
  gbit_per_cpu_s: round(row.gbit_per_cpu_s / other.gbit_per_cpu_s),
});

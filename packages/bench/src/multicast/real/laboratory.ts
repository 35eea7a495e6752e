import { errorMessage } from '@sheaf/gateway';
import type { Laboratory, Skipped, Watch } from '../../measure/measured_rounds.js';
import { round } from '../../measure/statistics.js';
import { prepareArms } from './arms.js';
import { Lan } from './lan.js';
import { makeSentFile, measureTransfer } from './measured_transfer.js';
import { ARMS, describePlan, type ArmName, type Place, type Plan, type Sample } from './plans.js';

export interface LaboratoryOptions {
  /** Size of the file */
  bytes: number;
  arms: readonly ArmName[];
  receivers: readonly number[];
  /** Losses in percent */
  losses: readonly number[];
  /** Rates in Mbit/s, of which each sender without congestion control gets the one at which it is fastest */
  rates: readonly number[];
}

/** A faster rate has to gain so much, since the goodput of equal rates differs by chance. */
const LEAST_GAIN = 1.05;

/** Makes hosts and a file, and finds the rate of each sender at each place. @throws UserError */
export async function withLaboratory<Result>(
  options: LaboratoryOptions,
  { progress, stop }: Watch,
  work: (laboratory: Laboratory<Plan, Sample>) => Promise<Result>,
): Promise<Result> {
  const { arms, skipped, versions } = await prepareArms(options.arms, progress);
  const lan = await Lan.make();
  const file = await makeSentFile(options.bytes);
  const measure = async (plan: Plan): Promise<Sample | { failed: string }> => {
    const open = arms.get(plan.arm);
    if (!open) throw new RangeError(`${plan.arm} is not prepared`);
    // An error of a process has its stack behind the first line.
    return measureTransfer(lan, plan, file, open, stop).catch((error: unknown) => ({
      failed: errorMessage(error).split('\n', 1)[0] ?? '',
    }));
  };
  try {
    const { losses, refused } = await possibleLosses(options.losses);
    skipped.push(...refused);
    const plans: Plan[] = [];
    for (const receivers of options.receivers)
      for (const loss_percent of losses)
        for (const arm of arms.keys()) {
          if (stop.aborted) break;
          const place = { arm, receivers, loss_percent };
          const found = await findRate(place, options.rates, async (plan) => {
            const sample = await measure(plan);
            progress(`finding the rate: ${describePlan(plan)}: ${describeSample(sample, options.bytes)}`);
            return sample;
          });
          if ('failed' in found)
            skipped.push({ what: describePlan({ ...place, rate_mbps: null }), reason: found.failed });
          else plans.push({ ...place, ...found });
        }
    return await work({ plans, skipped, versions, measure });
  } finally {
    await lan.close();
    await file.remove();
  }
}

/** Leaves out losses where packets cannot be lost on their way. */
async function possibleLosses(losses: readonly number[]): Promise<{ losses: number[]; refused: Skipped[] }> {
  const reason = losses.some((loss) => loss > 0) ? await Lan.whyNoLoss() : undefined;
  if (reason === undefined) return { losses: [...losses], refused: [] };
  return {
    losses: losses.filter((loss) => loss === 0),
    refused: losses.filter((loss) => loss > 0).map((loss) => ({ what: `a loss of ${loss} %`, reason })),
  };
}

/** Tries rates from the lowest up while the goodput rises. Returns the best one, or why the lowest fails. */
export async function findRate(
  place: Place & { arm: ArmName },
  rates: readonly number[],
  measure: (plan: Plan) => Promise<Sample | { failed: string }>,
): Promise<Pick<Plan, 'rate_mbps'> | { failed: string }> {
  const tried = ARMS[place.arm].paced ? [...rates].sort((left, right) => left - right) : [null];
  // There is nothing to find.
  if (tried.length === 1) return { rate_mbps: tried[0] ?? null };
  let best: { rate_mbps: number | null; seconds: number } | undefined;
  for (const rate_mbps of tried) {
    const sample = await measure({ ...place, rate_mbps });
    if ('failed' in sample) {
      if (!best) return sample;
      break;
    }
    if (best && sample.seconds * LEAST_GAIN > best.seconds) break;
    best = { rate_mbps, seconds: sample.seconds };
  }
  return { rate_mbps: best?.rate_mbps ?? null };
}

export const describeSample = (sample: Sample | { failed: string }, bytes: number): string =>
  'failed' in sample ? `failed: ${sample.failed}` : `${round((bytes * 8) / sample.seconds / 1e6, 3)} Mbit/s`;

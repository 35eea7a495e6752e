import { UserError } from '@sheaf/gateway';
import type { ExperimentContext, Outcome } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { round } from '../measure/statistics.js';
import type { BackendSite } from '../multi_end/real/backend_site.js';
import { withRunInSite } from './run_in.js';
import { balancerOf, withLoad, type LoadOptions, type Plan } from './balancers.js';
import { permittedQuotas } from '../process/processor_quota.js';
import { describePlan, plansOf, type Places } from './plans.js';
import type { Load } from './load/load.js';
import { sampleStacks, whyNotSampled } from './profile/perf.js';
import { sharesOf, WORK, type Work } from './profile/shares.js';

export interface ProfileOptions extends LoadOptions, Places {
  backends: number;
}

export interface Profile extends Plan {
  samples: number;
  /** Shares of the gateway's processor time, 0 to 1 */
  shares: Record<Work, number>;
}

/** Runs `bench direct-return --real --profile`. @throws UserError */
export async function runProfile(
  { sizes, acks, quotas, backends, ...load }: ProfileOptions,
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const missing = await whyNotSampled();
  if (missing !== undefined) throw new UserError('BENCH_UNAVAILABLE', missing);
  const machine = describeMachine();
  const profiles: Profile[] = [];
  const { permitted, refused } = permittedQuotas(quotas);
  const site = {
    seconds: load.seconds,
    backends,
    sizes,
    deliveries: ['proxy', 'return'] as const,
    caddyCommand: undefined,
  };
  await withRunInSite(site, progress, async (site) => {
    for (const plan of plansOf({ sizes, acks, quotas: permitted }, ['proxy', 'return'])) {
      progress(describePlan(plan));
      profiles.push(await profileBalancer(site, plan, load));
    }
  });
  const report = {
    experiment: 'direct-return',
    machine,
    parameters: { sizes, acks, quotas, backends, ...load },
    profiles,
    skipped: refused,
  };
  return {
    report,
    tables: [
      {
        head: ['delivery', 'bytes', 'ack of', 'quota', ...WORK.map((work) => `${work} %`), 'samples'],
        rows: profiles.map(({ delivery, bytes, client_ack_every, quota, shares, samples }) => [
          delivery,
          String(bytes),
          String(client_ack_every),
          String(quota),
          ...WORK.map((work) => String(round(100 * shares[work], 3))),
          String(samples),
        ]),
        notes: [
          "Shares of the gateway's processor time, from samples of its stacks.",
          ...refused.map(({ what, reason }) => `${what}: ${reason}`),
        ],
      },
    ],
  };
}

/** Samples the gateway while clients download. @throws UserError */
export async function profileBalancer(
  site: BackendSite,
  plan: Plan,
  options: LoadOptions,
  cancel?: AbortSignal,
): Promise<Profile> {
  const work = async (load: Load): Promise<Profile> => {
    const stacks = await sampleStacks(balancerOf(site, plan.delivery).pid, options.seconds);
    await load.read();
    return { ...plan, samples: stacks.length, shares: sharesOf(stacks) };
  };
  return withLoad(site, plan, options, work, cancel);
}

import { findPresentCaddy } from '../http/caddy.js';
import { progressBar } from '../measure/progress_bar.js';
import { round } from '../measure/statistics.js';
import { shuffled } from '../measure/shuffled.js';
import { measureBalancer, type LoadOptions } from './balancers.js';
import type { Skipped } from '../measure/measured_rounds.js';
import { permittedQuotas } from '../process/processor_quota.js';
import { describePlan, plansOf, type Places } from './plans.js';
import { deliveriesOf, withRunInSite } from './run_in.js';
import { balancerCells, gatewayCells, type BalancerCell, type GatewayCell, type MeasuredPlan } from './cells.js';

export interface BalancerOptions extends LoadOptions, Places {
  runs: number;
  backends: number;
}

export interface MeasuredBalancers {
  balancer: BalancerCell[];
  gateway: GatewayCell[];
  versions: Record<string, string>;
  skipped: Skipped[];
}

/** Share of the time of a run that a first one takes. It does not count, since programs that have not run yet are slower. */
const FIRST = 0.25;

/** Measures all cells, each once in every run, in an order of its own. @throws UserError */
export async function measureBalancers(
  { runs, sizes, acks, quotas, backends, ...load }: BalancerOptions,
  progress: (line: string) => void,
): Promise<MeasuredBalancers> {
  const { command, reason } = await findPresentCaddy();
  const { permitted, refused } = permittedQuotas(quotas);
  const options = {
    seconds: load.seconds,
    backends,
    sizes,
    deliveries: ['proxy', 'return'] as const,
    caddyCommand: command,
  };
  return withRunInSite(options, progress, async (site) => {
    const plans = plansOf({ sizes, acks, quotas: permitted }, deliveriesOf(site)).map((plan): MeasuredPlan => ({
      plan,
      samples: [],
    }));
    const begun = performance.now();
    let done = 0;
    for (let run = 0; run <= runs; run += 1) {
      for (const { plan, samples } of shuffled(plans, run)) {
        const seconds = run === 0 ? load.seconds * FIRST : load.seconds;
        const sample = await measureBalancer(site, plan, { ...load, seconds });
        if (run > 0) samples.push(sample);
        done += 1;
        progress(
          `${progressBar(done, plans.length * (runs + 1), (performance.now() - begun) / 1000)}: ${describePlan(plan)}: ${round(sample.gbit_per_cpu_s, 3)} Gbit for each second of the processor`,
        );
      }
    }
    return {
      balancer: balancerCells(plans),
      gateway: gatewayCells(plans),
      versions: site.caddy ? { caddy: site.caddy.version } : {},
      skipped: [...(reason === undefined ? [] : [{ what: 'caddy', reason }]), ...refused],
    };
  });
}

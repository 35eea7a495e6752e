import { mean, distribution, round } from '../measure/statistics.js';
import type { PerRequest, Plan, Sample } from './balancers.js';

/** Medians of the runs of one cell */
export interface BalancerCell extends Plan {
  requests_per_s: number;
  goodput_gbps: number;
  balancer_cpu_s: number;
  gbit_per_cpu_s: number;
  /** `gbit_per_cpu_s` to that of proxying by the same gateway, for the same responses and clients */
  ratio: number;
  /** Whether the balancer used up the processor time that it was permitted */
  saturated: boolean;
}

/** Share of its permitted processor time that a saturated balancer uses at least */
const SATURATED = 0.95;

/** What the gateway did in a cell: for each request, means of the runs */
export interface GatewayCell extends Plan, PerRequest {
  /** Responses of all runs that a backend might have sent and did not send to their end */
  fell_back: number;
  /** Why */
  reasons: string[];
}

export interface MeasuredPlan {
  plan: Plan;
  samples: Sample[];
}

/** Returns the cells of plans with at least one run each, in their order. */
export function balancerCells(plans: readonly MeasuredPlan[]): BalancerCell[] {
  return plans.map(({ plan, samples }) => {
    const proxy = plans.find(({ plan: other }) => other.delivery === 'proxy' && isSameLoad(other, plan));
    const rate = medianOf(samples, 'gbit_per_cpu_s');
    return {
      ...plan,
      requests_per_s: round(medianOf(samples, 'requests_per_s')),
      goodput_gbps: round(medianOf(samples, 'goodput_gbps')),
      balancer_cpu_s: round(medianOf(samples, 'balancer_cpu_s')),
      gbit_per_cpu_s: round(rate),
      ratio: proxy ? round(rate / medianOf(proxy.samples, 'gbit_per_cpu_s')) : Number.NaN,
      saturated: medianOf(samples, 'busy') >= SATURATED,
    };
  });
}

export function gatewayCells(plans: readonly MeasuredPlan[]): GatewayCell[] {
  return plans.flatMap(({ plan, samples }) => {
    const works = samples.flatMap(({ gateway }) => gateway ?? []);
    if (works.length === 0) return [];
    const of = (name: keyof PerRequest): number => round(mean(works.map((work) => work.per_request[name])), 3);
    return {
      ...plan,
      datagrams_received: of('datagrams_received'),
      datagrams_sent: of('datagrams_sent'),
      bytes_sent: of('bytes_sent'),
      javascript_calls: of('javascript_calls'),
      fell_back: works.reduce((sum, work) => sum + work.fell_back, 0),
      reasons: [...new Set(works.flatMap(({ reasons }) => (reasons === '' ? [] : reasons.split(', '))))],
    };
  });
}

/** Returns whether two cells are of the same responses and clients. */
export const isSameLoad = (left: Omit<Plan, 'delivery'>, right: Omit<Plan, 'delivery'>): boolean =>
  left.bytes === right.bytes && left.client_ack_every === right.client_ack_every && left.quota === right.quota;

const medianOf = (samples: readonly Sample[], name: Exclude<keyof Sample, 'gateway'>): number =>
  distribution(samples.map((sample) => sample[name])).median;

import { ProcessorQuota } from '../process/processor_quota.js';
import type { Delivery, Plan } from './balancers.js';

/** What was not measured, and why */
export interface Skipped {
  what: string;
  reason: string;
}

export interface Places {
  sizes: readonly number[];
  acks: readonly number[];
  quotas: readonly number[];
}

/** Returns all combinations, by quota, size, acknowledgements and delivery. */
export const plansOf = ({ sizes, acks, quotas }: Places, deliveries: readonly Delivery[]): Plan[] =>
  quotas.flatMap((quota) =>
    sizes.flatMap((bytes) =>
      acks.flatMap((client_ack_every) => deliveries.map((delivery) => ({ delivery, bytes, client_ack_every, quota }))),
    ),
  );

/** Leaves out the quotas that this host does not permit. If none is left, the balancer is not limited. */
export function permittedQuotas(quotas: readonly number[]): { permitted: number[]; refused: Skipped[] } {
  const reason = quotas.some((quota) => quota < 1) ? ProcessorQuota.whyNot() : undefined;
  if (reason === undefined) return { permitted: [...quotas], refused: [] };
  const refused = quotas.filter((quota) => quota < 1).map((quota) => ({ what: `a quota of ${quota}`, reason }));
  return { permitted: [1], refused };
}

export const describePlan = ({ delivery, bytes, client_ack_every, quota }: Plan): string =>
  `${delivery}, ${bytes} bytes, ack of ${client_ack_every}, quota ${quota}`;

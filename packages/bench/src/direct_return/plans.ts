import type { Delivery, Plan } from './balancers.js';

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

export const describePlan = ({ delivery, bytes, client_ack_every, quota }: Plan): string =>
  `${delivery}, ${bytes} bytes, ack of ${client_ack_every}, quota ${quota}`;

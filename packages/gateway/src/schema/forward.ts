import { z } from 'zod';
import { listenAddress } from '../values/scalars.js';

/** How the machines of a fleet pass datagrams on to each other */
export const forwardOptions = z.strictObject({
  listen: listenAddress.describe(
    'UDP address for datagrams that arrived at other machines of the fleet. The registry tells them of it.',
  ),
  first_packets: z
    .enum(['here', 'shared'])
    .default('here')
    .describe(
      'Who takes the first packets of a client, which name no server: the machine where they arrive, or one that all agree on. `shared` is for balancers that give each datagram of a client to another machine, and for machines with one address.',
    ),
});

export type ForwardOptions = z.output<typeof forwardOptions>;

import { z } from 'zod';

/** Bytes of a server's id, at most: QUIC version 1 has connection ids of 20, of which a first byte, the nonce, and the byte of the worker take ten. */
const maxBytes = 10;

/** What stands in the connection ids of a node */
export const connectionIdsOptions = z.strictObject({
  server_id: z
    .string()
    .regex(new RegExp(`^(?:[0-9a-f]{2}){1,${maxBytes}}$`, 'i'), {
      error: `is not hexadecimal with 1 to ${maxBytes} bytes`,
    })
    .describe(
      'Id of this server in hexadecimal, 1 to 10 bytes, by which balancers find it in the connection ids of packets (QUIC-LB). All servers behind one balancer have ids of one length.',
    ),
  encrypted: z
    .boolean()
    .default(true)
    .describe(
      'Only balancers with a key of `sheaf secrets FILE --balancer` can read the id. Needs `secrets`. `false` is for balancers that read it in the clear.',
    ),
});

/** Server id of a node, and whether it is encrypted */
export type ConnectionIdsOptions = z.output<typeof connectionIdsOptions>;

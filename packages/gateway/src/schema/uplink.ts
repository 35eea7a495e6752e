import { z } from 'zod';
import { filePath, hostAndPort, ipAddress, oneOrMore, remoteAddress } from '../values/scalars.js';
import { frontKeys } from './front.js';

const certificateHashes = oneOrMore(
  z
    .string()
    .regex(/^([0-9a-f]{2}:?){32}$/i, 'not a SHA-256 value in hexadecimal, as `sheaf cert` prints it')
    .transform((text) => text.replaceAll(':', '').toLowerCase()),
);

const trustOptions = z.union([
  z.literal('insecure'),
  z
    .strictObject({
      hash: certificateHashes
        .optional()
        .describe('SHA-256 of an accepted certificate of the gateway, in hexadecimal; `sheaf cert` prints it.'),
      ca: filePath.optional().describe("PEM file with the authorities that may have signed the gateway's certificate."),
    })
    .superRefine(({ hash, ca }, context) => {
      if ((hash === undefined) !== (ca === undefined)) return;
      context.addIssue({
        code: 'custom',
        message: 'a certificate is accepted by its hash or by its authority, not both',
        params: { hint: 'write `{ hash: … }` or `{ ca: ./ca.pem }`' },
      });
    }),
]);

const gatewayAddress = z.strictObject({
  address: hostAndPort.describe('Host and port of the gateway, such as `gateway.example:443`.'),
  server_name: z.string().min(1).optional().describe('Name that its certificate is for; default: the host.'),
  certificate: trustOptions
    .optional()
    .describe(
      'Accepted certificate of the gateway: `{ hash: … }`, `{ ca: ./ca.pem }`, or `insecure` for any. Default: one that this machine trusts.',
    ),
});

const gatewayOptions = z
  .union([z.string().min(1), gatewayAddress])
  .meta({ examples: ['{ address: "gateway.example:443" }'] })
  .describe('Gateway at the other end: the name of one in this file, or `{ address: host:port }`.');

const pathOptions = z.strictObject({
  local: ipAddress.describe('IP address of this machine that the path starts from.'),
  remote: remoteAddress.optional().describe("Address and port that it leads to; default: the gateway's."),
  backup: z.boolean().default(false).describe('Only used when no other path works.'),
  weight: z
    .int()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      'With `path_scheduler: weighted`, its share of what the node sends: a whole number from 1, the default, to 1000.',
    ),
});

const pathsOptions = z
  .union([z.literal('auto'), z.array(pathOptions).min(1)])
  .describe(
    '`auto` follows the addresses of this machine as they come and go; or a list of `{ local, remote, backup, weight }`, whose first path carries the handshake while it works.',
  );

/** Keys of every node with a connection to a gateway */
export const uplinkKeys = {
  gateway: gatewayOptions,
  paths: pathsOptions.default('auto'),
  congestion: frontKeys.congestion,
  path_scheduler: frontKeys.path_scheduler,
  qlog: frontKeys.qlog,
};

const uplinkConfiguration = z.strictObject(uplinkKeys);

export type UplinkConfiguration = z.output<typeof uplinkConfiguration>;
export type TrustOptions = z.output<typeof trustOptions>;

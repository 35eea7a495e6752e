import { z } from 'zod';
import { filePath, oneOrMore } from '../values/scalars.js';
import { publicKey } from './backbone.js';

const natsServer = z
  .string()
  .regex(
    /^(?:nats|tls):\/\/(?:\[[0-9a-f:.]+\]|[^\s/:@[\]]+):\d{1,5}$/i,
    'not a server of NATS such as `nats://10.0.0.1:4222`',
  )
  .meta({ description: 'Server of NATS.', examples: ['nats://10.0.0.1:4222'] });

/** Names that can be part of a key of the registry */
const word = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/i, 'a name is made of letters, digits, `-` and `_`');

const registryTlsOptions = z.strictObject({
  ca: filePath.optional().describe('PEM file with the authorities of the servers. Default: those of the system.'),
  cert: filePath.optional().describe('PEM file with the certificate that this node shows.'),
  key: filePath.optional().describe('PEM file with its private key.'),
});

/** Where the nodes of a fleet find each other */
export const registryOptions = z
  .strictObject({
    nats: oneOrMore(natsServer)
      .optional()
      .describe('Servers of NATS with JetStream, for several machines. Default: a directory of this machine.'),
    file: filePath.optional().describe('Directory of this machine. Default: `.sheaf/registry` beside the file.'),
    site: word.default('sheaf').describe('Name of the fleet, and of the bucket in NATS.'),
    credentials: filePath
      .optional()
      .describe('File by which NATS knows this node: `.creds`, the seed of an NKey, or `USER:PASSWORD`.'),
    tls: registryTlsOptions.optional().describe('TLS to the servers, which `tls://` asks for as well.'),
    replicas: z
      .int()
      .min(1)
      .max(5)
      .optional()
      .describe(
        'Servers that keep each value, when the bucket is made. Default: 3 where three servers are named, else 1.',
      ),
    nodes: z
      .record(word, publicKey)
      .default({})
      .describe('Public keys of nodes of the fleet that this file does not describe, by name.'),
    operator: publicKey
      .optional()
      .describe(
        'Public key of an operator, as `sheaf keys new operator` prints it. Nodes follow the configuration that `sheaf registry publish` signs with it.',
      ),
  })
  .describe('Registry by which the nodes of a fleet find each other. Default: none.');

export type RegistryOptions = z.output<typeof registryOptions>;

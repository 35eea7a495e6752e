import { z } from 'zod';
import { backboneKeys, publicKey } from './backbone.js';
import { duration, hostAndPort, oneOrMore, remoteAddress } from '../values/scalars.js';
import { frontKeys } from './front.js';
import { reachKeys } from './reach.js';
import { limitsOptions } from './limits.js';
import { routeOptions } from './routes.js';
import { workersOption } from './workers.js';

/** Highest backend id that BACKEND_OFFER can carry (docs/reference/wire.md) */
export const maxBackendId = 63;

const backendHealthOptions = z.strictObject({
  path: z
    .string()
    .startsWith('/')
    .optional()
    .describe(
      'Also requested with GET, over the backbone; any status below 400 is healthy. Default: any sign of life is enough.',
    ),
  interval: duration.prefault('1s').describe('Time between checks.'),
  timeout: duration.prefault('3s').describe('Silence after which the backend counts as lost.'),
});

const backendObject = z.strictObject({
  name: z
    .string()
    .min(1)
    .describe('Name of the backend: a node of this file with the role `backend`, or one that is described here.'),
  id: z
    .number()
    .int()
    .min(0)
    .max(maxBackendId)
    .optional()
    .describe('Number by which clients know it, 0 to 63. Default: its place in the list.'),
  address: oneOrMore(remoteAddress)
    .optional()
    .describe('Address at which clients reach it, or one of each family. Default: `listen` of the node in this file.'),
  backbone: hostAndPort
    .optional()
    .describe('Address of its backbone, when it is in another file. Default: the one that the `registry` has.'),
  public_key: publicKey.optional().describe('Its public key, when it is in another file.'),
  health: backendHealthOptions.prefault({}).describe('How often it is checked.'),
});

export type BackendReferenceOptions = z.output<typeof backendObject>;
export type BackendHealthOptions = z.output<typeof backendHealthOptions>;

/** Backends of a gateway */
export const backendsOptions = z
  .array(
    z
      .union([z.string().min(1), backendObject])
      .transform((value): BackendReferenceOptions =>
        typeof value === 'string' ? backendObject.parse({ name: value }) : value,
      ),
  )
  .min(1)
  .max(maxBackendId + 1)
  .describe(
    'Nodes that answer clients of this gateway directly: names of nodes of this file, or `{ name, address, backbone, public_key }`.',
  );

const primaryObject = z.strictObject({
  name: z.string().min(1).describe('Name of the gateway.'),
  backbone: hostAndPort.optional().describe('Address of its backbone. Default: the one that the `registry` has.'),
  public_key: publicKey.describe('Its public key.'),
});

const primaryOptions = z
  .union([z.string().min(1), primaryObject])
  .describe(
    'The gateway whose connections this backend takes over: its name in this file, or `{ name, backbone, public_key }`.',
  );

export const returnOptions = z.strictObject({
  from: oneOrMore(remoteAddress).describe(
    'Addresses and ports of gateways from which this backend may send. A grant that names another one is refused.',
  ),
  via: z
    .enum(['transparent', 'own-address'])
    .default('transparent')
    .describe(
      'How to send from there. `transparent`: the address belongs to another host; it needs CAP_NET_RAW or CAP_NET_ADMIN. `own-address`: this host has it, too: on `lo`, or because the gateway runs here and shares its port.',
    ),
  recovery: z
    .enum(['gateway', 'backend'])
    .default('gateway')
    .describe(
      'Who numbers the packets of such responses and sends lost ones again. `gateway`: it orders every packet. `backend`: this backend does, for clients that permit it; the gateway does so for all others.',
    ),
});

export type ReturnOptions = z.output<typeof returnOptions>;

/** Keys of a backend, without its `role` */
export const backendConfiguration = z.strictObject({
  listen: frontKeys.listen,
  workers: workersOption,
  ...reachKeys,
  tls: frontKeys.tls,
  secrets: frontKeys.secrets,
  connection_ids: frontKeys.connection_ids,
  primary: primaryOptions,
  ...backboneKeys,
  return: returnOptions
    .optional()
    .describe(
      'Lets this backend send responses from the address of a gateway, past the gateway. Default: it does not.',
    ),
  congestion: frontKeys.congestion,
  path_scheduler: frontKeys.path_scheduler,
  stream_scheduler: frontKeys.stream_scheduler,
  http: frontKeys.http,
  admin: frontKeys.admin,
  routes: z
    .array(routeOptions)
    .min(1)
    .describe('Routes that this backend answers itself; it requests the rest from the gateway.'),
  limits: limitsOptions.prefault({}).describe('Bounds for clients.'),
  log: frontKeys.log,
  tracing: frontKeys.tracing,
  qlog: frontKeys.qlog,
});

export type BackendConfiguration = z.output<typeof backendConfiguration>;

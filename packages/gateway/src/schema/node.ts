import { z } from 'zod';
import { backboneKeys } from './backbone.js';
import { edgeConfiguration } from './edge.js';
import { backendConfiguration, backendsOptions } from './backends.js';
import { channelsOptions } from './channels.js';
import { forwardOptions } from './forward.js';
import { frontKeys } from './front.js';
import { reachKeys } from './reach.js';
import { limitsOptions } from './limits.js';
import { registryOptions } from './registry.js';
import { routeOptions } from './routes.js';
import { tunnelNodeConfiguration } from './tunnel_node.js';
import { pageLoaderOption } from './webtransport.js';
import { workersOption } from './workers.js';

/** Keys of a gateway, which is a node of a file or the whole file */
export const nodeConfiguration = z
  .strictObject({
    listen: frontKeys.listen,
    workers: workersOption,
    ...reachKeys,
    tls: frontKeys.tls,
    secrets: frontKeys.secrets,
    connection_ids: frontKeys.connection_ids,
    forward: forwardOptions
      .optional()
      .describe(
        'Passes datagrams that belong to other machines of the fleet on to them. Needs `registry`, `secrets` and `connection_ids`. Default: such datagrams are dropped.',
      ),
    alpn: z
      .array(z.enum(['h3', 'hq-interop']))
      .min(1)
      .default(['h3'])
      .describe('QUIC protocols in order of preference. `hq-interop` is HTTP/0.9 for interoperability runs.'),
    congestion: frontKeys.congestion,
    multipath: z.boolean().default(true).describe('Let clients use several paths in one QUIC connection (RFC 10069).'),
    path_scheduler: frontKeys.path_scheduler,
    stream_scheduler: frontKeys.stream_scheduler,
    page_loader: pageLoaderOption,
    http: frontKeys.http,
    admin: frontKeys.admin,
    routes: z.array(routeOptions).min(1).describe('The first route that matches a request answers it.'),
    channels: channelsOptions.default({}),
    backends: backendsOptions.optional(),
    backbone: backboneKeys.backbone.optional(),
    key: backboneKeys.key,
    public_key: backboneKeys.public_key,
    limits: limitsOptions.prefault({}).describe('Bounds for clients.'),
    log: frontKeys.log,
    tracing: frontKeys.tracing,
    qlog: frontKeys.qlog,
  })
  .meta({ title: 'Sheaf configuration' });

export type NodeConfiguration = z.output<typeof nodeConfiguration>;

const registry = registryOptions.optional();

/** A whole file that describes a gateway */
const gatewayFile = nodeConfiguration.extend({ registry });

const roleDescription =
  "What the node does: `gateway` answers requests, `backend` answers some of a gateway's directly, `edge` proxies those of a browser beside it to a gateway, `tunnel` leads programs beside it through a gateway to other servers.";

const gatewayNode = nodeConfiguration.extend({ role: z.literal('gateway').describe(roleDescription) });
const backendNode = backendConfiguration.extend({ role: z.literal('backend').describe(roleDescription) });
const edgeNode = edgeConfiguration.extend({ role: z.literal('edge').describe(roleDescription) });
const tunnelNode = tunnelNodeConfiguration.extend({ role: z.literal('tunnel').describe(roleDescription) });

const namedNodes = [gatewayNode, backendNode, edgeNode, tunnelNode] as const;

/** A node in the map `nodes` */
export type NamedNode = z.output<(typeof namedNodes)[number]>;

const nodeName = z.string().regex(/^[a-z][a-z0-9_-]*$/i, 'a name is made of letters, digits, `-` and `_`');

const nodesConfiguration = z.strictObject({
  nodes: z
    .record(nodeName, z.discriminatedUnion('role', namedNodes))
    .describe('Several nodes by name, such as `nodes: { site: { role: gateway, … } }`.'),
  registry,
});

/** The nodes of a file whose values have passed its schema */
export type DescribedNodes = NodeConfiguration | { nodes: Record<string, NamedNode> };

const atLeastOneNode = nodesConfiguration.shape.nodes.refine((map) => Object.keys(map).length > 0, {
  message: 'there is no node',
  params: { hint: 'add one, such as `site: { role: gateway, … }`' },
});

/** A node with an unknown role. Its other keys are checked once the role is right. */
const roleAlone = z.looseObject({ role: z.enum(['gateway', 'backend', 'edge', 'tunnel']).describe(roleDescription) });

/** A whole file with a role, which belongs into a node. Its other keys are checked once they stand in a node. */
const roleOfFile = z.looseObject({ role: z.unknown() }).superRefine((_file, context) => {
  const params = {
    code: 'CONFIG_UNKNOWN_KEY',
    place: 'key',
    hint: 'write the role in `nodes: { NAME: { role: … } }`',
  };
  context.addIssue({ code: 'custom', path: ['role'], message: 'unknown key `role` at the top level', params });
});

/**
 * Returns the schema for this very file: of a gateway, or of a map with a schema for each of its nodes. So a fault is
 * one of the node's role, and not of all roles.
 */
export function schemaOf(value: unknown): z.ZodType {
  if (!isMap(value)) return gatewayFile;
  if (!Object.hasOwn(value, 'nodes')) return Object.hasOwn(value, 'role') ? roleOfFile : gatewayFile;
  const { nodes } = value;
  if (!isMap(nodes) || Object.keys(nodes).length === 0) return z.strictObject({ nodes: atLeastOneNode, registry });
  const byName = z.strictObject(
    Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, schemaOfNode(node)])),
  );
  const named = byName.superRefine((map, context) => {
    for (const name of Object.keys(map)) {
      const parsed = nodeName.safeParse(name);
      if (parsed.success) continue;
      context.addIssue({
        code: 'custom',
        path: [name],
        message: `\`${name}\` is not a name of a node`,
        params: { place: 'key', hint: parsed.error.issues[0]?.message },
      });
    }
  });
  return z.strictObject({ nodes: named, registry });
}

function schemaOfNode(value: unknown): z.ZodType {
  switch (isMap(value) ? value['role'] : undefined) {
    case 'gateway':
      return gatewayNode;
    case 'edge':
      return edgeNode;
    case 'backend':
      return backendNode;
    case 'tunnel':
      return tunnelNode;
    default:
      return roleAlone;
  }
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the JSON Schema of a configuration file, for editors and for `sheaf schema`. */
export function configurationSchema(): Record<string, unknown> {
  const file = z.union([gatewayFile, nodesConfiguration]).meta({ title: 'Sheaf configuration' });
  return jsonSchema(file);
}

export function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
}

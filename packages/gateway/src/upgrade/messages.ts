import { z } from 'zod';

/** Version of the messages between a process and the one that takes over from it */
export const protocolVersion = 1;

/** Number of the descriptor by which a successor talks to the process that started it. The ones that it takes over follow. */
export const controlDescriptor = 3;

/** Processes whose connections one process may serve beside its own, at most */
export const mostPredecessors = 31;

const descriptor = z
  .number()
  .int()
  .min(controlDescriptor + 1)
  .max(65_535);
const uint32 = z.number().int().min(0).max(0xffff_ffff);
const listenAddress = z.strictObject({
  address: z.string(),
  further: z.array(z.string()).readonly(),
  port: z.number().int().min(1).max(65_535),
});

/** Sockets at one address of the configuration, by address and then by worker */
const sockets = z.strictObject({
  /** The address as the configuration names it, in its canonical form */
  configured: z.string(),
  address: listenAddress,
  tcp: z.array(z.array(descriptor)),
  udp: z
    .strictObject({
      descriptors: z.array(z.array(descriptor)),
      key: z.strictObject({ mask: uint32, multiplier: uint32 }),
      /** Ways for datagrams to processes that have connections of these sockets */
      links: z.array(descriptor),
    })
    .optional(),
});

/** A local port of a tunnel node */
const port = z.strictObject({
  /** The key of the configuration that names it, or the protocol of a forward */
  use: z.enum(['socks5', 'http_proxy', 'tcp', 'udp']),
  configured: z.string(),
  address: z.strictObject({ address: z.string(), port: z.number().int().min(1).max(65_535) }),
  descriptor,
});

const node = z.strictObject({
  name: z.string(),
  /** What a successor cannot change: connections and sockets depend on it. */
  fixed: z.record(z.string(), z.string()),
  sockets: z.partialRecord(z.enum(['listen', 'http', 'backbone']), sockets),
  ports: z.array(port).optional(),
  admin: z.strictObject({ configured: z.string(), descriptor }).optional(),
  /** Backends that the operator drains */
  drained: z.array(z.string()),
  /** Secrets that no file has, in base64 */
  secrets: z.array(z.strictObject({ number: z.number().int().min(0), secret: z.base64() })).optional(),
});

/** What a process leaves to the one that takes over */
export const helloMessage = z.strictObject({
  type: z.literal('hello'),
  protocol: z.literal(protocolVersion),
  version: z.string(),
  pid: z.number().int(),
  /** Number of the process that takes over, in a row of upgrades */
  generation: z.number().int().min(1),
  /** Earlier processes that still have connections, with a descriptor to talk to them */
  predecessors: z
    .array(z.strictObject({ generation: z.number().int().min(0), control: descriptor }))
    .max(mostPredecessors),
  nodes: z.array(node),
});

const refusalSchema = z.strictObject({ code: z.string(), message: z.string(), text: z.string() });

const refusedMessage = z.strictObject({ type: z.literal('refused'), refusal: refusalSchema });

/** Says that a successor is ready, and what it takes over, or why it is not. */
export const readinessMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('ready'),
    pid: z.number().int(),
    version: z.string(),
    took: z.array(z.strictObject({ node: z.string(), use: z.enum(['listen', 'http', 'backbone']) })),
  }),
  refusedMessage,
]);

/** Makes a successor read from the sockets: its predecessor does no more. */
export const goMessage = z.strictObject({ type: z.literal('go') });

/** Says that a successor serves, or why it does not after all. */
export const successMessage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('serving') }),
  refusedMessage,
]);

/** Makes a process that was taken over from drain. */
export const drainMessage = z.strictObject({ type: z.literal('drain') });

export type Hello = z.output<typeof helloMessage>;
export type Readiness = z.output<typeof readinessMessage>;
export type NodeInheritance = z.output<typeof node>;
export type SocketInheritance = z.output<typeof sockets>;
export type PortInheritance = z.output<typeof port>;
export type AdminInheritance = NonNullable<NodeInheritance['admin']>;
export type SocketUse = keyof NodeInheritance['sockets'];
export type Took = Extract<Readiness, { type: 'ready' }>['took'];

export type UpgradeMessage =
  Hello | Readiness | z.output<typeof goMessage> | z.output<typeof successMessage> | z.output<typeof drainMessage>;

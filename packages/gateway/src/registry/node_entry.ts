import { isIP } from 'node:net';
import { z } from 'zod';
import type { FleetNodeDescription } from './fleet_view.js';

/** Longest entry of a node, in bytes */
export const maxNodeEntryBytes = 4 * 1024;

/** A zone of IPv6 names an interface of the machine that wrote it (RFC 4007 section 11), and means nothing elsewhere. */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%');

const address = z.strictObject({
  address: z.string().refine(isAddress),
  port: z.int().min(1).max(65_535),
});

const hexadecimal = (bytes: number) => z.string().regex(new RegExp(`^(?:[0-9a-f]{2}){1,${bytes}}$`));

/** A heartbeat: what a node says of itself, and which of its heartbeats this is */
const nodeEntry = z.object({
  role: z.enum(['gateway', 'backend']),
  listen: z.array(address).max(8),
  backbone: address.optional(),
  forwarding: address.optional(),
  serverId: hexadecimal(11)
    .transform((text) => Buffer.from(text, 'hex'))
    .optional(),
  // Operators read it in a terminal.
  version: z.string().regex(/^[\w.+-]{1,64}$/),
  backboneVersion: z.int().min(0).max(65_535),
  configuration: hexadecimal(32).or(z.literal('')),
  draining: z.boolean(),
  /** Set in the last heartbeat of a process that ends in order */
  stopped: z.boolean(),
  /** Grows with every process of the node */
  incarnation: z.int().min(0),
  /** Grows with every heartbeat of the process */
  counter: z.int().min(0),
});

/** A heartbeat of a node. Keys that a later version of Sheaf may add are left out. */
export type NodeEntry = z.output<typeof nodeEntry>;

export const nodeEntrySchema = nodeEntry;

/** Which heartbeat of a node it is */
export interface Beat {
  stopped: boolean;
  incarnation: number;
  counter: number;
}

export function encodeNodeEntry(description: FleetNodeDescription, beat: Beat): Buffer {
  const { serverId } = description;
  return Buffer.from(JSON.stringify({ ...description, ...beat, serverId: serverId?.toString('hex') }));
}

/** Whether a heartbeat comes after another one of the same node. */
export function isLater(beat: Beat, before: Beat): boolean {
  return beat.incarnation === before.incarnation
    ? beat.counter > before.counter
    : beat.incarnation > before.incarnation;
}

export function isSame(beat: Beat, other: Beat): boolean {
  return beat.incarnation === other.incarnation && beat.counter === other.counter;
}

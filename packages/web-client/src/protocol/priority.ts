import { ProtocolError } from './errors.js';
import { readVarint, varintLength, writeVarint } from './varint.js';

/** A node of a dependency tree (RFC 7540 §5.3): a stream, or a group that only orders other nodes */
export interface Dependency {
  /** Number that the requester chose, from 1 to {@link PRIORITY_LIMITS}.node, unique in its session */
  readonly node: number;
  /** Number of another node, which may not be known yet, or 0 for the root */
  readonly parent: number;
  /** Share of the parent's capacity among siblings, 1 to 256 */
  readonly weight: number;
  /** Whether the node takes the place of all present children of its parent, which become its own children */
  readonly exclusive: boolean;
}

/** Order of a request among the others */
export interface StreamPriority {
  /** Urgency from 0, the most urgent, to 7 (RFC 9218 §4.1) */
  readonly urgency: number;
  /** Whether a part of the response is useful, so that streams of the same urgency share (RFC 9218 §4.2) */
  readonly incremental: boolean;
  readonly dependency?: Dependency;
  /**
   * Groups between this stream and the root. Every request repeats its groups, so that the tree is the same in whatever
   * order requests arrive. The latest message about a group counts.
   */
  readonly groups?: readonly Dependency[];
}

/** Priority of a request that declares none (RFC 9218 §4) */
export const DEFAULT_PRIORITY: StreamPriority = { urgency: 3, incremental: false };

export const PRIORITY_LIMITS = {
  /**
   * Highest number of a node, so that every number fits into four bytes. A session that runs out starts again with the
   * lowest.
   */
  node: 2 ** 20 - 1,
  groups: 8,
} as const;

/** Length of the longest encoding: 1 byte, and 9 nodes of 4 + 4 + 1 bytes */
export const MAX_PRIORITY_BYTES = 1 + (1 + PRIORITY_LIMITS.groups) * 9;

const INCREMENTAL = 0x08;

/**
 * Encodes a priority. Format: docs/reference/wire.md, "Priority". @throws ProtocolError for values that the format
 * cannot express
 */
export function encodePriority(priority: StreamPriority): Uint8Array {
  const { urgency, incremental, dependency, groups = [] } = priority;
  const nodes = dependency === undefined ? [] : [dependency, ...groups];
  if (!Number.isInteger(urgency) || urgency < 0 || urgency > 7) throw malformed('urgency is not 0 to 7');
  if (dependency === undefined && groups.length > 0) throw malformed('groups without a dependency');
  validateNodes(nodes);
  const length = nodes.reduce((sum, node) => sum + nodeLength(node), 1);
  const bytes = new Uint8Array(length);
  bytes[0] = urgency | (incremental ? INCREMENTAL : 0);
  let offset = 1;
  for (const node of nodes) {
    offset = writeVarint(bytes, offset, node.node);
    offset = writeVarint(bytes, offset, parentField(node));
    bytes[offset] = node.weight - 1;
    offset += 1;
  }
  return bytes;
}

/** Decodes a priority, the inverse of {@link encodePriority}. @throws ProtocolError */
export function decodePriority(bytes: Uint8Array): StreamPriority {
  if (bytes.length > MAX_PRIORITY_BYTES) throw new ProtocolError('too_large', 'priority is too long');
  const first = bytes[0];
  if (first === undefined || first > 0x0f) throw malformed('priority does not begin with an urgency');
  const nodes: Dependency[] = [];
  for (let offset = 1; offset < bytes.length;) {
    const node = readVarint(bytes, offset);
    const parent = node && readVarint(bytes, node.end);
    const weight = parent && bytes[parent.end];
    if (weight === undefined) throw malformed('priority ends inside a node');
    nodes.push({
      node: node!.value,
      parent: Math.floor(parent!.value / 2),
      weight: weight + 1,
      exclusive: parent!.value % 2 === 1,
    });
    offset = parent!.end + 1;
  }
  validateNodes(nodes);
  const [dependency, ...groups] = nodes;
  return {
    urgency: first & 0x07,
    incremental: (first & INCREMENTAL) !== 0,
    ...(dependency && { dependency }),
    ...(groups.length > 0 && { groups }),
  };
}

function validateNodes(nodes: readonly Dependency[]): void {
  if (nodes.length > 1 + PRIORITY_LIMITS.groups) throw malformed('too many groups');
  for (const { node, parent, weight } of nodes) {
    if (!isWithin(node, 1, PRIORITY_LIMITS.node) || !isWithin(parent, 0, PRIORITY_LIMITS.node)) {
      throw malformed('node is out of range');
    }
    if (node === parent) throw malformed('node depends on itself');
    if (!isWithin(weight, 1, 256)) throw malformed('weight is not 1 to 256');
  }
  if (new Set(nodes.map(({ node }) => node)).size < nodes.length) throw malformed('node appears twice');
}

function nodeLength(node: Dependency): number {
  return varintLength(node.node) + varintLength(parentField(node)) + 1;
}

function parentField({ parent, exclusive }: Dependency): number {
  return parent * 2 + (exclusive ? 1 : 0);
}

function isWithin(value: number, low: number, high: number): boolean {
  return Number.isInteger(value) && value >= low && value <= high;
}

function malformed(reason: string): ProtocolError {
  return new ProtocolError('malformed', reason);
}

import type { StreamDependency, StreamPriority } from './types.js';

/** The nodes of one session lie below this number (docs/reference/wire.md). */
const nodesPerSession = 2 ** 20;

/** Number of sessions whose nodes together still fit into a safe integer. */
const maxSessions = 2 ** 32;

/** The part of a connection's nodes that belongs to its requests. */
export const requestNodes = 0;

/**
 * Returns the part that belongs to a session, given the id of its request stream. The id is a multiple of four, since
 * the client opened the stream (RFC 9000 §2.1).
 */
export function sessionNodes(session: number): number {
  return session / 4 + 1;
}

/**
 * Translates a priority to nodes of the connection: several sessions choose the same numbers, and none may reach into
 * the tree of another. Drops the dependency when a node is out of range.
 */
export function inConnection(priority: StreamPriority, part: number): StreamPriority {
  const { urgency, incremental, dependency, groups = [] } = priority;
  const valid = ({ node, parent }: StreamDependency): boolean =>
    node > 0 && node < nodesPerSession && parent >= 0 && parent < nodesPerSession;
  if (!dependency || part >= maxSessions || ![dependency, ...groups].every(valid)) return { urgency, incremental };
  const move = (own: StreamDependency): StreamDependency => ({
    ...own,
    node: globalNode(part, own.node),
    parent: globalNode(part, own.parent),
  });
  return {
    urgency,
    incremental,
    dependency: move(dependency),
    ...(groups.length > 0 ? { groups: groups.map(move) } : {}),
  };
}

function globalNode(part: number, node: number): number {
  return node === 0 ? 0 : part * nodesPerSession + node;
}

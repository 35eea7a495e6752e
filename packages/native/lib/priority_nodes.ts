import type { StreamDependency, StreamPriority } from './types.js';

/** Nodes of one session lie below this; docs/reference/wire.md. */
const nodesPerSession = 2 ** 20;

/** The sessions whose nodes still fit into a number beside each other. */
const maxSessions = 2 ** 32;

/** The part of a connection's nodes that its requests have. */
export const requestNodes = 0;

/** The part that a session has, by the id of its request stream (client-initiated: a multiple of four). */
export function sessionNodes(session: number): number {
  return session / 4 + 1;
}

/**
 * The priority with nodes of the connection: several sessions choose the same numbers, and none may
 * reach into the tree of another. Without its dependency when a node is out of range.
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

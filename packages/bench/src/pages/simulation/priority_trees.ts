import { createPrioritizer, FIRST_STREAM_NODE } from '@sheaf/web-client/priority';
import type { Dependency, StreamPriority } from '@sheaf/web-client/protocol';
import type { PageResource } from '../table/page_table.js';

/** The published trees */
export const TREES = ['safari', 'firefox', 'chrome'] as const;
/** The published trees, and the exclusive chain of a real Chrome */
export const ALL_TREES = [...TREES, 'chrome-chain'] as const;
export type TreeName = (typeof ALL_TREES)[number];

export interface PriorityTree {
  /** Nodes without a stream, parents first */
  groups: Dependency[];
  /** Priorities in the order of the resources */
  requests: (StreamPriority & { dependency: Dependency })[];
}

/** Returns the priorities that a browser sends when it requests all of these at once, in order. */
export function priorityTree(style: TreeName, resources: readonly PageResource[]): PriorityTree {
  const prioritizer = createPrioritizer(style);
  const groups = new Map<number, Dependency>();
  const requests = resources.map(({ class: kind }, index) => {
    const priority = prioritizer.assign(
      { class: kind, placement: 'elsewhere', fetchPriority: 'auto' },
      FIRST_STREAM_NODE + index,
    );
    if (!priority.dependency) throw new RangeError(`style ${style} has no tree`);
    for (const group of priority.groups ?? []) groups.set(group.node, group);
    return { ...priority, dependency: priority.dependency };
  });
  return { groups: [...groups.values()].sort((a, b) => a.node - b.node), requests };
}

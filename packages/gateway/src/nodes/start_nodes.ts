import type { LoadedNode } from '../configuration/loaded.js';
import type { ListenAddress } from '../configuration/scalars.js';
import { Edge } from '../edge/edge.js';
import type { NodeOptions } from '../front/front.js';
import { Gateway } from '../gateway/gateway.js';

/** A node that runs in this process. */
export type RunningNode = Gateway | Edge;

/**
 * Starts nodes of one file, in its order: the gateways first, since edges need their addresses. When
 * one cannot start, the others are stopped.
 * @throws UserError
 */
export async function startNodes(nodes: readonly LoadedNode[], options: NodeOptions = {}): Promise<RunningNode[]> {
  const running = new Map<LoadedNode, RunningNode>();
  try {
    for (const loaded of nodes) if (loaded.role === 'gateway') running.set(loaded, await Gateway.start(loaded, options));
    for (const loaded of nodes) {
      if (loaded.role !== 'edge') continue;
      const gatewayAddress = loaded.gateway && addressOf(running.get(loaded.gateway));
      running.set(loaded, await Edge.start(loaded, { ...options, ...(gatewayAddress === undefined ? {} : { gatewayAddress }) }));
    }
  } catch (error) {
    await closeNodes([...running.values()], 0);
    throw error;
  }
  return nodes.map((loaded) => running.get(loaded)).filter((node) => node !== undefined);
}

/** Drains all of them at one time. */
export async function closeNodes(nodes: readonly RunningNode[], drainMs?: number): Promise<void> {
  await Promise.all(nodes.map((node) => node.close(drainMs)));
}

function addressOf(node: RunningNode | undefined): ListenAddress | undefined {
  return node?.address;
}

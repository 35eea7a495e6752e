import type { LoadedNode } from '../schema/loaded.js';
import { Edge } from './edge/edge.js';
import { Backend } from './backend.js';
import type { NodeOptions } from './front/front.js';
import { Gateway } from './gateway.js';
import { RunningAddresses } from '../values/running_addresses.js';

/** A node that runs in this process */
export type RunningNode = Gateway | Backend | Edge;

/**
 * Starts the nodes of one file. Backends start first, then gateways, which call their backends, then edges, which need
 * gateways. If one cannot start, the others are stopped.
 * @throws UserError
 */
export async function startNodes(nodes: readonly LoadedNode[], options: NodeOptions = {}): Promise<RunningNode[]> {
  const started = new Map<LoadedNode, RunningNode>();
  const running = new RunningAddresses();
  try {
    for (const role of ['backend', 'gateway', 'edge'] as const) {
      for (const loaded of nodes)
        if (loaded.role === role) started.set(loaded, await startNode(loaded, { ...options, running }));
    }
  } catch (error) {
    await closeNodes([...started.values()], 0);
    throw error;
  }
  return nodes.map((loaded) => started.get(loaded)).filter((node) => node !== undefined);
}

async function startNode(
  loaded: LoadedNode,
  options: NodeOptions & { running: RunningAddresses },
): Promise<RunningNode> {
  const { running } = options;
  switch (loaded.role) {
    case 'backend':
    case 'gateway': {
      const node =
        loaded.role === 'backend' ? await Backend.start(loaded, options) : await Gateway.start(loaded, options);
      const { backboneAddress } = node;
      running.set(loaded.name, { listen: node.address, ...(backboneAddress ? { backbone: backboneAddress } : {}) });
      return node;
    }
    case 'edge': {
      const gatewayAddress = loaded.gateway && running.listenOf(loaded.gateway.name);
      return Edge.start(loaded, { ...options, ...(gatewayAddress === undefined ? {} : { gatewayAddress }) });
    }
  }
}

/** Drains all nodes at the same time. */
export async function closeNodes(nodes: readonly RunningNode[], drainMs?: number): Promise<void> {
  await Promise.all(nodes.map((node) => node.close(drainMs)));
}

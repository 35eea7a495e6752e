import type { LoadedNode, LoadedUplink } from '../schema/loaded.js';
import type { ListenAddress } from '../values/scalars.js';
import { Edge } from './edge/edge.js';
import { Backend } from './backend.js';
import type { NodeOptions, RunningNode } from './life/running_node.js';
import { TunnelNode } from './tunnel/tunnel_node.js';
import { describeNode } from './fleet/describe_node.js';
import { Gateway } from './gateway.js';
import { RunningAddresses } from '../values/running_addresses.js';

/**
 * Starts the nodes of one file. Backends start first, then gateways, which call their backends, then those
 * that need gateways. If one cannot start, the others are stopped.
 * @throws UserError
 */
export async function startNodes(nodes: readonly LoadedNode[], options: NodeOptions = {}): Promise<RunningNode[]> {
  const started = new Map<LoadedNode, RunningNode>();
  const running = new RunningAddresses(options.fleet?.view);
  try {
    for (const role of ['backend', 'gateway', 'edge', 'tunnel'] as const) {
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
      const hash = (): string => options.reload?.status().version ?? '';
      options.fleet?.announce(loaded.name, () => describeNode(loaded, node, hash()));
      return node;
    }
    case 'edge':
      return Edge.start(loaded, { ...options, gatewayAddress: gatewayAddress(loaded, running) });
    case 'tunnel':
      return TunnelNode.start(loaded, { ...options, gatewayAddress: gatewayAddress(loaded, running) });
  }
}

function gatewayAddress({ gateway }: LoadedUplink, running: RunningAddresses): ListenAddress | undefined {
  return gateway && running.listenOf(gateway.name);
}

/** Drains all nodes at the same time. */
export async function closeNodes(nodes: readonly RunningNode[], drainMs?: number): Promise<void> {
  await Promise.all(nodes.map((node) => node.close(drainMs)));
}

import { ownKey, publicKeyOf } from '../multi_end/backbone/identity.js';
import {
  keySource,
  type LoadedBackend,
  type LoadedGateway,
  type LoadedNode,
  type LoadedUplink,
} from '../schema/loaded.js';
import { workerCount } from '../schema/workers.js';
import type { ListenAddress } from '../values/scalars.js';
import { Edge } from './edge/edge.js';
import { Backend } from './backend.js';
import type { NodeOptions, RunningNode } from './life/running_node.js';
import { TunnelNode } from './tunnel/tunnel_node.js';
import { Gateway } from './gateway.js';
import { RunningAddresses } from '../values/running_addresses.js';
import { WorkersNode } from '../workers/workers_node.js';

/** The compiled file, even in tests that run the sources */
const workerCode = new URL('../../dist/nodes/worker/worker_main.js', import.meta.url);

/**
 * Starts the nodes of one file. Backends start first, then gateways, which call their backends, then those
 * that need gateways. If one cannot start, the others are stopped.
 * @throws UserError
 */
export async function startNodes(nodes: readonly LoadedNode[], options: NodeOptions = {}): Promise<RunningNode[]> {
  const started = new Map<LoadedNode, RunningNode>();
  const running = new RunningAddresses();
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
      const node = await startServer(loaded, options);
      const { backboneAddress } = node;
      running.set(loaded.name, { listen: node.address, ...(backboneAddress ? { backbone: backboneAddress } : {}) });
      return node;
    }
    case 'edge':
      return Edge.start(loaded, { ...options, gatewayAddress: gatewayAddress(loaded, running) });
    case 'tunnel':
      return TunnelNode.start(loaded, { ...options, gatewayAddress: gatewayAddress(loaded, running) });
  }
}

/** Starts a node that serves clients in this thread, or in several others. */
async function startServer(
  loaded: LoadedGateway | LoadedBackend,
  options: NodeOptions & { running: RunningAddresses },
): Promise<Gateway | Backend | WorkersNode> {
  if (workerCount(loaded.node) === 1)
    return loaded.role === 'backend' ? Backend.start(loaded, options) : Gateway.start(loaded, options);
  await makeKeys(loaded);
  return WorkersNode.start(loaded, { ...options, entry: workerCode });
}

/** Makes the keys that do not exist yet, before several threads look for them at the same time. @throws UserError */
async function makeKeys(loaded: LoadedGateway | LoadedBackend): Promise<void> {
  const peers = loaded.role === 'backend' ? [loaded.primary] : loaded.backends;
  if (peers.length === 0) return;
  await ownKey(keySource(loaded, loaded.directory));
  for (const { identity } of peers) await publicKeyOf(identity);
}

function gatewayAddress({ gateway }: LoadedUplink, running: RunningAddresses): ListenAddress | undefined {
  return gateway && running.listenOf(gateway.name);
}

/** Drains all nodes at the same time. */
export async function closeNodes(nodes: readonly RunningNode[], drainMs?: number): Promise<void> {
  await Promise.all(nodes.map((node) => node.close(drainMs)));
}

import { ownKey, publicKeyOf } from '../multi_end/backbone/identity.js';
import { keySource, type LoadedNode, type LoadedServer } from '../schema/loaded.js';
import { hasWorkers } from '../schema/workers.js';
import type { FrontNodeOptions } from './front/front.js';
import type { NodeOptions, RunningNode } from './life/running_node.js';
import { cannotTakeOver } from './upgrade/unfit.js';
import { TunnelNode } from './tunnel/tunnel_node.js';
import { describeNode, type DescribedNode } from './fleet/describe_node.js';
import { gatewayAddress, startServer } from './start_server.js';
import { RunningAddresses } from '../values/running_addresses.js';
import type { TakenSockets } from '../upgrade/taken_sockets.js';
import { MainSockets } from '../workers/main_sockets.js';
import { takeStored } from '../workers/stored_sockets.js';
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
  /** Sockets of nodes that the main thread serves, in a service whose manager may keep them */
  const kept = new Map<LoadedNode, MainSockets>();
  const running = new RunningAddresses({ elsewhere: options.fleet?.view });
  try {
    const servers = nodes.filter(({ role }) => role !== 'tunnel') as LoadedServer[];
    // What a process before this one left may be at the addresses that others want.
    const stored = options.succession ? undefined : options.store && takeStored(servers, options.store);
    for (const loaded of servers) {
      const taken = stored?.get(loaded.name);
      if (runsWorkers(loaded)) started.set(loaded, await openWorkers(loaded, taken, { ...options, running }));
      else if (options.store?.present && !options.succession) kept.set(loaded, await MainSockets.open(loaded, taken));
    }
    for (const role of ['backend', 'gateway', 'edge', 'tunnel'] as const) {
      for (const loaded of nodes) {
        if (loaded.role !== role) continue;
        const opened = started.get(loaded);
        if (opened instanceof WorkersNode) await opened.start();
        else started.set(loaded, await startNode(loaded, { ...options, running, kept: kept.get(loaded) }));
      }
    }
  } catch (error) {
    await closeNodes([...started.values()], 0);
    for (const sockets of kept.values()) await sockets.close();
    throw error;
  }
  return nodes.map((loaded) => started.get(loaded)).filter((node) => node !== undefined);
}

type StartOptions = NodeOptions & { running: RunningAddresses };

async function startNode(
  loaded: LoadedNode,
  options: StartOptions & Pick<FrontNodeOptions, 'kept'>,
): Promise<RunningNode> {
  const { running } = options;
  if (loaded.role === 'tunnel')
    return TunnelNode.start(loaded, { ...options, gatewayAddress: gatewayAddress(loaded, running) });
  if (options.succession) throw cannotTakeOver(loaded);
  const node = await startServer(loaded, options);
  note(loaded, node, options);
  return node;
}

/** Tells the other nodes of the process and of the fleet where a node listens. */
function note(loaded: LoadedServer, node: DescribedNode, { running, fleet, reload, succession }: StartOptions): void {
  // No other node calls an edge.
  if (loaded.role === 'edge') return;
  const { address, backboneAddress } = node;
  running.set(loaded.name, { listen: address, ...(backboneAddress ? { backbone: backboneAddress } : {}) });
  const hash = (): string => reload?.status().version ?? '';
  const announce = (): void => fleet?.announce(loaded.name, () => describeNode(loaded, node, hash()));
  // Until then, the process before speaks as this node.
  if (succession) void succession.began.then(announce);
  else announce();
}

/** A link between machines leads to threads, even where the node asks for none. */
const runsWorkers = (loaded: LoadedNode): loaded is LoadedServer =>
  loaded.role !== 'tunnel' &&
  (hasWorkers(loaded.node) || (loaded.role === 'gateway' && loaded.node.forward !== undefined));

/** Opens the sockets of a node whose clients are served by several threads. @throws UserError */
async function openWorkers(
  loaded: LoadedServer,
  stored: TakenSockets | undefined,
  options: StartOptions,
): Promise<WorkersNode> {
  await makeKeys(loaded);
  const node = await WorkersNode.open(loaded, { ...options, entry: workerCode, stored });
  note(loaded, node, options);
  return node;
}

/** Makes the keys that do not exist yet, before several threads look for them at the same time. @throws UserError */
async function makeKeys(loaded: LoadedServer): Promise<void> {
  if (loaded.role === 'edge') return;
  const peers = loaded.role === 'backend' ? [loaded.primary] : loaded.backends;
  if (peers.length === 0) return;
  await ownKey(keySource(loaded, loaded.directory));
  for (const { identity } of peers) await publicKeyOf(identity);
}

/** Drains all nodes at the same time. */
export async function closeNodes(nodes: readonly RunningNode[], drainMs?: number): Promise<void> {
  await Promise.all(nodes.map((node) => node.close(drainMs)));
}

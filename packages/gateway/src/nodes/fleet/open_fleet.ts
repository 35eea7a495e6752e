import { ownKey } from '../../multi_end/backbone/identity.js';
import { Copy } from '../../registry/copy.js';
import type { RegistryDriver } from '../../registry/driver.js';
import { FileDriver } from '../../registry/file_driver.js';
import { Fleet, type FleetOptions } from '../../registry/fleet.js';
import { FollowedConfiguration } from '../../registry/followed_configuration.js';
import { NatsDriver } from '../../registry/nats_driver.js';
import { loadSodium } from '../../multi_end/backbone/sealed_message.js';
import type { NodeKey } from '../../values/node_key.js';
import { SealedSecrets, secretsKey } from './sealed_secrets.js';
import { keySource, type LoadedNode, type LoadedRegistry } from '../../schema/loaded.js';

/** Servers that keep each value where so many are named */
const usualReplicas = 3;

/** Returns the driver that a configuration wants. Nothing is opened yet. */
export function registryDriver({ options }: LoadedRegistry): RegistryDriver {
  const { nats, file, site, credentials, tls, replicas } = options;
  if (!nats) return new FileDriver(file ?? '');
  return new NatsDriver({
    servers: nats,
    bucket: site,
    replicas: replicas ?? (nats.length >= usualReplicas ? usualReplicas : 1),
    credentials,
    tls,
  });
}

export type OpenFleetOptions = Pick<FleetOptions, 'now' | 'timeOfDay' | 'warn'> & {
  registry: LoadedRegistry;
  /** Directory for a copy of what the registry told last */
  stateDirectory: string;
  /** Nodes that run in this process */
  nodes: readonly LoadedNode[];
};

/** Opens the registry for the nodes of a process. @throws UserError when the key of a node cannot be used */
export async function openFleet({ registry, stateDirectory, nodes, ...rest }: OpenFleetOptions): Promise<Fleet> {
  const { site, operator } = registry.options;
  const own: { name: string; key: NodeKey }[] = [];
  const sealed = new Map<string, SealedSecrets>();
  for (const loaded of nodes) {
    if (loaded.role !== 'gateway' && loaded.role !== 'backend') continue;
    const { name, node } = loaded;
    const key = await ownKey(keySource(loaded, loaded.directory));
    own.push({ name, key });
    if (operator && node.secrets !== undefined) {
      const common = { site, operator, key, sodium: await loadSodium(), now: rest.timeOfDay, warn: rest.warn };
      sealed.set(secretsKey(name), new SealedSecrets({ ...common, file: node.secrets }));
    }
  }
  const fleet = await Fleet.open({
    ...rest,
    driver: registryDriver(registry),
    site,
    own,
    known: registry.known,
    followed: operator && new FollowedConfiguration(site, operator, rest.timeOfDay),
    readers: sealed,
    copy: Copy.of(
      stateDirectory,
      site,
      nodes.map(({ name }) => name),
    ),
  });
  // Nodes read their secrets when they start.
  await Promise.all([...sealed.values()].map(({ written }) => written));
  return fleet;
}

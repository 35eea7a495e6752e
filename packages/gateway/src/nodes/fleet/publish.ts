import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, UserError } from '../../errors/user_error.js';
import { maxValueBytes, RevisionConflict, type RegistryDriver } from '../../registry/driver.js';
import { EntryRefused } from '../../registry/entry.js';
import { publishConfiguration } from '../../registry/followed_configuration.js';
import { publicKeyIfThere } from '../../registry/trust.js';
import { loadSodium } from '../../multi_end/backbone/sealed_message.js';
import type { LoadedConfiguration, LoadedRegistry } from '../../schema/loaded.js';
import type { NodeKey } from '../../values/node_key.js';
import { registryDriver } from './open_fleet.js';
import { sealSecrets } from './sealed_secrets.js';

/** Time in milliseconds for a registry to answer */
const patienceMs = 5_000;
const pauseMs = 50;

/** Room in a value for what stands around the text of a document */
const overheadBytes = 1_024;

export interface PublishOptions {
  registry: LoadedRegistry;
  operator: NodeKey;
  /** The configuration of the fleet */
  text: string;
  /** Time of day in milliseconds */
  now: number;
}

/** Signs a configuration, and puts it into the registry. Returns its revision. @throws UserError */
export async function publishDocument({ registry, operator, text, now }: PublishOptions): Promise<number> {
  const { site } = registry.options;
  if (JSON.stringify(text).length > maxValueBytes - overheadBytes)
    throw new UserError('REGISTRY_REFUSED', `the configuration is too large for a registry: ${text.length} letters`, {
      hint: `write less than ${Math.floor(maxValueBytes / 1_024)} KiB`,
    });
  return inRegistry(registry, (driver) => publishConfiguration({ driver, site, operator, text, now }));
}

export interface PublishSecretsOptions {
  configuration: LoadedConfiguration;
  operator: NodeKey;
  /** Text of a file of secrets */
  text: string;
  /** Time of day in milliseconds */
  now: number;
}

/** Seals secrets for each node of a configuration that has `secrets`, and puts them into the registry. Returns the names. @throws UserError */
export async function publishSecrets({ configuration, operator, text, now }: PublishSecretsOptions): Promise<string[]> {
  const { registry, nodes } = configuration;
  if (!registry) throw new Error('there is no registry');
  const { site } = registry.options;
  const sodium = await loadSodium();
  const receivers = nodes.filter(({ node }) => 'secrets' in node && node.secrets !== undefined);
  return inRegistry(registry, async (driver) => {
    for (const { name } of receivers) {
      const identity = registry.known.get(name);
      const publicKey = identity && (await publicKeyIfThere(identity));
      if (!publicKey)
        throw new UserError('KEY_UNUSABLE', `the public key of \`${name}\` is not known here`, {
          hint: `add its \`public_key\`, as \`sheaf keys show ${name}\` prints it on its machine`,
        });
      await sealSecrets({ driver, site, operator, sodium, node: { name, publicKey }, text, now });
    }
    return receivers.map(({ name }) => name);
  });
}

/** Opens a registry for one operation. @throws UserError */
async function inRegistry<Result>(
  registry: LoadedRegistry,
  operate: (driver: RegistryDriver) => Promise<Result>,
): Promise<Result> {
  const driver = registryDriver(registry);
  try {
    driver.open();
    await whenAnswering(driver);
    return await operate(driver);
  } catch (error) {
    throw explained(error, driver);
  } finally {
    await driver.close();
  }
}

/** Waits until the registry can be read. */
async function whenAnswering(driver: RegistryDriver): Promise<void> {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      await driver.list();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await sleep(pauseMs);
  }
}

function explained(error: unknown, { place }: RegistryDriver): UserError {
  if (error instanceof UserError) return error;
  if (error instanceof RevisionConflict)
    return new UserError('REGISTRY_REFUSED', 'somebody else has published at the same moment', {
      hint: 'look at what they published, and publish again',
      cause: error,
    });
  if (error instanceof EntryRefused)
    return new UserError('REGISTRY_REFUSED', `what the registry has is not from this operator: ${error.message}`, {
      hint: 'use the key of the operator that `registry` names; or remove the entry `config` with the tools of the registry',
      cause: error,
    });
  return new UserError('REGISTRY_UNREACHABLE', `the registry at ${place} does not answer: ${errorMessage(error)}`, {
    hint: 'check the addresses and `credentials` of `registry`',
    cause: error,
  });
}

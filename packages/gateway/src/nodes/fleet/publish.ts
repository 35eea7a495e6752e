import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, UserError } from '../../errors/user_error.js';
import { maxValueBytes, RevisionConflict, type RegistryDriver } from '../../registry/driver.js';
import { EntryRefused } from '../../registry/entry.js';
import { publishConfiguration } from '../../registry/followed_configuration.js';
import type { LoadedRegistry } from '../../schema/loaded.js';
import type { NodeKey } from '../../values/node_key.js';
import { registryDriver } from './open_fleet.js';

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
}

/** Signs a configuration, and puts it into the registry. Returns its revision. @throws UserError */
export async function publishDocument({ registry, operator, text }: PublishOptions): Promise<number> {
  const { site } = registry.options;
  if (JSON.stringify(text).length > maxValueBytes - overheadBytes)
    throw new UserError('REGISTRY_REFUSED', `the configuration is too large for a registry: ${text.length} letters`, {
      hint: `write less than ${Math.floor(maxValueBytes / 1_024)} KiB`,
    });
  const driver = registryDriver(registry);
  try {
    driver.open();
    await whenAnswering(driver);
    return await publishConfiguration({ driver, site, operator, text });
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

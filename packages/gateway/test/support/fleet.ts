import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Copy } from '../../src/registry/copy.js';
import { Fleet, type FleetOptions } from '../../src/registry/fleet.js';
import type { RegistryDriver } from '../../src/registry/driver.js';
import type { FleetNodeDescription } from '../../src/registry/fleet_view.js';
import { fleetTimes, type FleetTimes } from '../../src/registry/times.js';
import { NodeKey } from '../../src/values/node_key.js';
import { temporaryDirectory } from './temporary_directory.js';

/** Everything as in operation, but quicker */
export const quickTimes: FleetTimes = { ...fleetTimes, beat: 50, suspect: 400, gone: 1_500, echo: 400, audit: 300 };

/** Keys of nodes by their names, which are also what the configuration of the fleet knows */
export function keysOf(...names: string[]): Map<string, NodeKey> {
  return new Map(names.map((name) => [name, NodeKey.generate()]));
}

export function knownFrom(keys: ReadonlyMap<string, NodeKey>): FleetOptions['known'] {
  return new Map([...keys].map(([name, { publicKey }]) => [name, publicKey]));
}

export function describedAs(more: Partial<FleetNodeDescription> = {}): FleetNodeDescription {
  return {
    role: 'gateway',
    listen: [{ address: '192.0.2.1', port: 443 }],
    version: '0.1.0',
    backboneVersion: 1,
    configuration: 'ab'.repeat(32),
    draining: false,
    ...more,
  };
}

export interface Member {
  fleet: Fleet;
  warnings: string[];
  /** Changes what the node says of itself. */
  say(more: Partial<FleetNodeDescription>): void;
  /** Leaves without a word, as a process that is killed. */
  vanish(): void;
  /** Makes the watch that is open silent, without an error. */
  deafen(): void;
}

export interface JoinOptions {
  driver: RegistryDriver;
  keys: ReadonlyMap<string, NodeKey>;
  /** Node of this member; default: it only reads */
  name?: string;
  description?: Partial<FleetNodeDescription>;
  more?: Partial<FleetOptions>;
}

/** A process of the fleet, which leaves with the test */
export async function joinFleet({ driver, keys, name, description, more }: JoinOptions): Promise<Member> {
  const warnings: string[] = [];
  const silent = new SilencedDriver(driver);
  const key = name === undefined ? undefined : keys.get(name)!;
  const fleet = await Fleet.open({
    driver: silent,
    site: 'test',
    own: name === undefined || !key ? [] : [{ name, key }],
    known: knownFrom(keys),
    copy: new Copy(join(await temporaryDirectory(), 'copy.json')),
    now: () => performance.now(),
    timeOfDay: () => Date.now(),
    warn: (message) => warnings.push(message),
    times: quickTimes,
    ...more,
  });
  onTestFinished(() => fleet.close());
  let current = describedAs(description);
  if (name !== undefined) fleet.announce(name, () => current);
  return {
    fleet,
    warnings,
    say: (changes) => void (current = { ...current, ...changes }),
    vanish: () => (silent.silenced = true),
    deafen: () => silent.deafen(),
  };
}

/** States of the nodes that a member sees, by name */
export function seenBy({ fleet }: Member): Record<string, string> {
  return Object.fromEntries(fleet.view.nodes.map(({ name, state, draining }) => [name, draining ? 'draining' : state]));
}

/** A driver that drops what its member says, once it is silenced, and what open watches tell, once it is deaf */
class SilencedDriver implements RegistryDriver {
  silenced = false;
  #watches = 0;
  #deafUpTo = 0;
  readonly #driver: RegistryDriver;

  constructor(driver: RegistryDriver) {
    this.#driver = driver;
  }

  get place(): string {
    return this.#driver.place;
  }

  get connected(): boolean {
    return this.#driver.connected;
  }

  set reconnected(value: () => void) {
    this.#driver.reconnected = value;
  }

  open(): void {
    this.#driver.open();
  }

  deafen(): void {
    this.#deafUpTo = this.#watches;
  }

  get: RegistryDriver['get'] = (key) => this.#driver.get(key);
  list: RegistryDriver['list'] = (...all) => this.#driver.list(...all);
  watch: RegistryDriver['watch'] = ({ changed, ...others }) => {
    const number = (this.#watches += 1);
    return this.#driver.watch({ ...others, changed: (entry) => number > this.#deafUpTo && changed(entry) });
  };
  compareAndSet: RegistryDriver['compareAndSet'] = (...all) => this.#driver.compareAndSet(...all);
  heartbeat: RegistryDriver['heartbeat'] = (...all) =>
    this.silenced ? Promise.reject(new Error('silenced')) : this.#driver.heartbeat(...all);
  close: RegistryDriver['close'] = () => this.#driver.close();
}

import type { NodeKey } from '../values/node_key.js';
import type { RegistryDriver } from './driver.js';
import { signEntry } from './entry.js';
import type { FleetNodeDescription } from './fleet_view.js';
import { encodeNodeEntry, type Beat } from './node_entry.js';

export interface AnnouncerOptions {
  driver: RegistryDriver;
  site: string;
  name: string;
  key: NodeKey;
  /** Time of day in milliseconds at which the process began */
  startedAt: number;
}

/** Says in the registry that a node of this process is alive, and what it is. */
export class Announcer {
  /** Describes the node at the moment; undefined until it runs */
  describe: (() => FleetNodeDescription) | undefined;
  readonly #options: AnnouncerOptions;
  #incarnation: number;
  #counter = 0;
  /** Whether this node has seen what is in the registry of earlier processes of the node */
  #settled = false;
  #superseded = false;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#incarnation = options.startedAt;
  }

  get name(): string {
    return this.#options.name;
  }

  get key(): NodeKey {
    return this.#options.key;
  }

  /** The heartbeats that were read so far were those of earlier processes. This one comes after them, whatever the clock says. */
  follow(before: Pick<Beat, 'incarnation'> | undefined): void {
    if (before && before.incarnation >= this.#incarnation) this.#incarnation = before.incarnation + 1;
  }

  /** Whether another process has begun to speak as this node */
  get superseded(): boolean {
    return this.#superseded;
  }

  /** Looks at what was read last of this node, and whether the process that wrote it still speaks. */
  observe(latest: Pick<Beat, 'incarnation'> | undefined, speaks: boolean): void {
    if (!this.#settled || !speaks) this.follow(latest);
    this.#superseded = latest !== undefined && latest.incarnation > this.#incarnation;
  }

  /** All that the registry has was read: whoever speaks as this node from now on has begun after it. */
  settle(latest: Pick<Beat, 'incarnation'> | undefined): void {
    this.follow(latest);
    this.#settled = true;
  }

  /** Writes a heartbeat, once there is something to say. Returns its revision. Rejects when the registry does not take it. */
  async beat(stopped = false): Promise<number | undefined> {
    const { driver, site, name, key } = this.#options;
    const description = this.describe?.();
    if (!description) return undefined;
    this.#counter += 1;
    const body = encodeNodeEntry(description, { stopped, incarnation: this.#incarnation, counter: this.#counter });
    const place = { site, key: `node.${name}` };
    return driver.heartbeat(place.key, signEntry(key, place, body));
  }
}

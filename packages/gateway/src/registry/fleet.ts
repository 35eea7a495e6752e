import { errorMessage } from '../errors/user_error.js';
import type { RegistrySource, RegistryStatus } from '../observability/registry_report.js';
import type { NodeKey } from '../values/node_key.js';
import { formatAddress } from '../values/listen_error.js';
import { Announcer } from './announcer.js';
import type { Copy } from './copy.js';
import type { RegistryDriver } from './driver.js';
import { Feed, type EntryReader } from './feed.js';
import type { FleetNodeDescription, FleetView } from './fleet_view.js';
import { configurationKey, type FollowedConfiguration } from './followed_configuration.js';
import { maxNodeEntryBytes } from './node_entry.js';
import { Refusals } from './refusals.js';
import { Roster } from './roster.js';
import { ServerIds } from './server_ids.js';
import { fleetTimes, type FleetTimes } from './times.js';
import { Trust, type KnownNodes } from './trust.js';

export interface FleetOptions {
  driver: RegistryDriver;
  /** Name of the fleet */
  site: string;
  /** Nodes of this process that others know by keys */
  own: readonly { name: string; key: NodeKey }[];
  known: KnownNodes;
  /** The operator's document, if this process follows it */
  followed?: FollowedConfiguration | undefined;
  /** Readers of further keys */
  readers?: ReadonlyMap<string, EntryReader>;
  /** Where a copy of what the registry told last is kept */
  copy: Copy;
  /** Returns a time in milliseconds that only grows. */
  now: () => number;
  /** Returns the time of day in milliseconds. */
  timeOfDay: () => number;
  /** Writes a warning to the log of the process. */
  warn: (message: string) => void;
  times?: FleetTimes;
}

/** Time in milliseconds for which a start waits for the registry, before it goes on with the copy */
const patienceMs = 2_000;

/** What the nodes of this process have to do with the others of their fleet. Nothing here ever stops a node from serving. */
export class Fleet implements RegistrySource {
  readonly #options: FleetOptions;
  readonly #times: FleetTimes;
  readonly #trust = new Trust();
  readonly #serverIds: ServerIds;
  readonly #roster: Roster;
  readonly #feed: Feed;
  readonly #refusals: Refusals;
  #announcers: readonly Announcer[];
  readonly #warned = new Set<string>();
  #failedWrites = 0;
  #copiedAt = Number.NEGATIVE_INFINITY;
  #important = false;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> | undefined;
  #beating: Promise<unknown> | undefined;

  /** Opens the registry, and waits for a moment for what it tells. Never rejects because of the registry. */
  static async open(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    await fleet.#open();
    return fleet;
  }

  private constructor(options: FleetOptions) {
    this.#options = options;
    const { driver, site, own, now, timeOfDay, times = fleetTimes } = options;
    this.#times = times;
    this.#refusals = new Refusals((refused) => options.warn(`an entry of the registry is refused: ${refused.message}`));
    this.#announcers = own.map((node) => new Announcer({ driver, site, ...node, startedAt: timeOfDay() }));
    this.#serverIds = new ServerIds({ driver, site, trust: this.#trust, now: timeOfDay });
    this.#roster = new Roster({
      site,
      trust: this.#trust,
      own: new Set(own.map(({ name }) => name)),
      holderOf: (serverId) => this.#serverIds.holderOf(serverId),
      isRecent: () => this.#feed.age !== undefined && this.#feed.age < times.suspect,
      suspectMs: times.suspect,
      goneMs: times.gone,
      failed: (error) => this.#warnOnce(`a change of the fleet has no effect here: ${errorMessage(error)}`),
    });
    this.#roster.onChange(() => (this.#important = true));
    this.#feed = new Feed({
      driver,
      readerOf: (key) => this.#readerOf(key),
      writes: () => this.#speaking().some(({ describe }) => describe),
      refusals: this.#refusals,
      // After a crash, nobody can bring back what the operator has replaced.
      keep: () => void this.#keep(),
      now,
      times,
    });
  }

  get view(): FleetView {
    return this.#roster;
  }

  /** The operator's document, if this process follows it */
  get followed(): FollowedConfiguration | undefined {
    return this.#options.followed;
  }

  /** Tells the others about a node of this process from now on. */
  announce(name: string, describe: () => FleetNodeDescription): void {
    const announcer = this.#announcers.find((each) => each.name === name);
    if (!announcer) return;
    announcer.describe = describe;
    void this.#claim().catch(() => undefined);
    this.#beat();
  }

  /** Says nothing more: another process has taken over, and speaks as the nodes of this one. */
  silence(): void {
    this.#announcers = [];
  }

  /** Believes the nodes of another configuration. */
  async use(known: KnownNodes): Promise<void> {
    await this.#trust.use(known);
    this.#judge();
  }

  status(): RegistryStatus {
    const { driver, site, followed } = this.#options;
    const { age, reason, deadWatches } = this.#feed;
    return {
      place: driver.place,
      site,
      connected: driver.connected,
      ...(age !== undefined && { ageSeconds: age / 1_000 }),
      failedWrites: this.#failedWrites,
      ...(reason !== undefined && { reason }),
      deadWatches,
      refused: { ...this.#refusals.counts },
      nodes: this.#roster.nodes.map((node) => ({
        name: node.name,
        role: node.role,
        state: node.state,
        draining: node.draining,
        own: node.own,
        ...(node.serverId && { serverId: node.serverId.toString('hex') }),
        ...(node.backbone && { backbone: formatAddress(node.backbone) }),
        version: node.version,
        backboneVersion: node.backboneVersion,
        configuration: node.configuration,
      })),
      conflicts: this.#conflicts(),
      ...(followed?.current && { followed: followed.current.revision }),
    };
  }

  /** Says that the nodes of this process have stopped, and leaves the registry. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { driver } = this.#options;
    if (driver.connected) await Promise.allSettled(this.#speaking().map((announcer) => announcer.beat(true)));
    await this.#save().catch(() => undefined);
    // What waits for the registry ends by this.
    await driver.close().catch(() => undefined);
    await Promise.allSettled([this.#feed.close(), this.#ticking, this.#beating]);
  }

  async #open(): Promise<void> {
    const { driver, known } = this.#options;
    await this.#trust.use(known);
    for (const [key, value] of await this.#options.copy.read()) this.#feed.recall(key, value);
    for (const announcer of this.#announcers) announcer.follow(this.#roster.beatOf(announcer.name));
    void this.#feed.first.then(() => {
      for (const announcer of this.#announcers) announcer.settle(this.#roster.beatOf(announcer.name));
    });
    driver.open();
    this.#timer = setInterval(() => this.#tick(), this.#times.beat).unref();
    await Promise.race([this.#feed.first, new Promise((resolve) => setTimeout(resolve, patienceMs))]);
  }

  #tick(): void {
    this.#beat();
    this.#ticking ??= this.#look().finally(() => (this.#ticking = undefined));
  }

  async #look(): Promise<void> {
    await this.#feed.tick();
    this.#judge();
    const due = this.#options.now() - this.#copiedAt >= this.#times.copy;
    if (!due && !this.#important && !this.#serverIds.contested) return;
    await this.#trust.refresh();
    await Promise.all([this.#claim().catch(() => undefined), this.#keep()]);
    for (const conflict of this.#conflicts()) this.#warnOnce(conflict);
  }

  #judge(): void {
    this.#roster.judge(this.#feed.time.now);
    for (const announcer of this.#announcers) {
      const { name } = announcer;
      announcer.observe(this.#roster.beatOf(name), this.#roster.node(name)?.state === 'alive');
    }
  }

  /** Nodes of this process that no other process speaks for */
  #speaking(): Announcer[] {
    return this.#announcers.filter(({ superseded }) => !superseded);
  }

  /** Writes the heartbeats, unless the registry still has the ones before to answer. */
  #beat(): void {
    this.#beating ??= Promise.all(this.#speaking().map((announcer) => this.#beatFor(announcer))).finally(
      () => (this.#beating = undefined),
    );
  }

  async #beatFor(announcer: Announcer): Promise<void> {
    try {
      const revision = await announcer.beat();
      if (revision !== undefined) this.#feed.expect(`node.${announcer.name}`, revision);
    } catch (error) {
      this.#failedWrites += 1;
      this.#feed.reason = errorMessage(error);
    }
  }

  async #claim(): Promise<void> {
    this.#serverIds.contested = false;
    for (const { name, key, describe } of this.#speaking()) {
      const serverId = describe?.().serverId;
      if (serverId) await this.#serverIds.claim({ name, key, serverId });
    }
  }

  #conflicts(): string[] {
    const twice = this.#announcers
      .filter(({ superseded }) => superseded)
      .map(
        ({ name }) => `another process runs as \`${name}\`: stop one of them, or give it a name and a key of its own`,
      );
    return [...this.#serverIds.conflicts.values(), ...twice, ...this.#versionConflicts()];
  }

  /** Nodes of two versions of the backbone do not pair. Those of one version go on until all are upgraded. */
  #versionConflicts(): string[] {
    const { nodes } = this.#roster;
    const own = nodes.find((node) => node.own);
    if (!own) return [];
    return nodes
      .filter(({ backboneVersion }) => backboneVersion !== own.backboneVersion)
      .map(
        ({ name, version, backboneVersion }) =>
          `\`${name}\` (${version}) speaks version ${backboneVersion} of the backbone, and \`${own.name}\` version ${own.backboneVersion}: upgrade the older one`,
      );
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#options.warn(message);
  }

  async #keep(): Promise<void> {
    await this.#save().catch((error: unknown) => this.#warnOnce(`the copy of the registry: ${errorMessage(error)}`));
  }

  async #save(): Promise<void> {
    this.#important = false;
    this.#copiedAt = this.#options.now();
    await this.#options.copy.write(this.#feed.accepted);
  }

  #readerOf(key: string): EntryReader | undefined {
    const { followed, readers } = this.#options;
    if (key === configurationKey) return followed;
    if (readers?.has(key)) return readers.get(key);
    if (ServerIds.isClaim(key)) return this.#serverIds;
    const name = key.startsWith('node.') ? key.slice('node.'.length) : undefined;
    if (name === undefined || !this.#trust.knows(name)) return undefined;
    return {
      maxBytes: maxNodeEntryBytes,
      accept: ({ value, revision }, at) => this.#roster.accept(name, value, revision, at),
    };
  }
}

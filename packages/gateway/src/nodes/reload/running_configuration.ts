import { join, resolve } from 'node:path';
import { loadConfiguration } from '../../configuration/load.js';
import { refusalOf, type Refusal } from '../../errors/refusal.js';
import { UserError } from '../../errors/user_error.js';
import type { LoadedConfiguration, LoadedNode } from '../../schema/loaded.js';
import type {
  ConfigurationChange,
  ConfigurationStatus,
  ReloadOutcome,
  ReloadSource,
} from '../../observability/configuration_report.js';
import type { UpgradeOutcome } from '../../observability/upgrade_report.js';
import type { Fleet } from '../../registry/fleet.js';
import { openFleet } from '../fleet/open_fleet.js';
import { prepareAll, type Prepared } from '../life/reload.js';
import type { NodeOptions, RunningNode } from '../life/running_node.js';
import { closeNodes, startNodes } from '../start_nodes.js';
import { Predecessors } from '../../upgrade/predecessors.js';
import type { Succession } from '../../upgrade/succession.js';
import { Upgrader, type UpgraderOptions } from '../upgrade/upgrader.js';
import { changesOf } from './changes.js';
import { refuseFixed, refuseOtherRegistry } from './fixed_options.js';

export interface RunningConfigurationOptions {
  file: string;
  /** Returns whether the files that a node names have to be on this machine. */
  filesOf?: (name: string) => boolean;
  /** Returns the nodes to run, of all nodes in the file. @throws UserError */
  choose: (loaded: LoadedConfiguration) => readonly LoadedNode[];
  node?: Omit<NodeOptions, 'reload' | 'fleet' | 'upgrade' | 'succession'>;
  /** Present where another process can take over from this one */
  upgrade?: Pick<UpgraderOptions, 'command' | 'timeoutMs'>;
  /** Present where this process takes over from another one: its nodes wait for `begin`. */
  succession?: Succession;
  /** Returns the time of day. */
  now: () => Date;
  /** Time in milliseconds in which all gets ready for another configuration */
  readyMs?: number;
  /** Directory for what nodes keep over a restart. Default: `.sheaf` beside the file */
  stateDirectory?: string | undefined;
  /** Hears of each reload, whoever asked for it. */
  onReload?: { begins(): void; ended(): void };
}

/** Time in milliseconds in which all gets ready for another configuration. Workers have less. */
const readyMs = 60_000;

/** Maximum of warnings that wait for the log of the first node */
const maxUntold = 16;

/** The nodes of a configuration file that run in this process, which follow the file when they are told to */
export class RunningConfiguration implements ReloadSource {
  readonly #options: RunningConfigurationOptions;
  /** Present where another process can take over from this one */
  readonly upgrader: Upgrader | undefined;
  #loaded: LoadedConfiguration;
  #chosen: readonly LoadedNode[];
  #since: Date;
  /** Where the document in use is from */
  #source: string;
  #refused: ConfigurationStatus['refused'];
  #nodes: readonly RunningNode[] = [];
  #fleet: Fleet | undefined;
  /** Revision of the operator's document with which the start began */
  #seen: number | undefined;
  /** Warnings that came before there was a log */
  readonly #untold: string[] = [];
  /** Ends a reload that runs. */
  readonly #stopping = new AbortController();
  /** The reload that runs */
  #running: Promise<ReloadOutcome> | undefined;
  /** The one that begins after it, for all who ask meanwhile */
  #next: Promise<ReloadOutcome> | undefined;

  /**
   * Reads the file and starts its nodes. Where they take over, the process before hears when they are ready, or why they are not.
   * The caller tells it `succession.serving()`. @throws UserError
   */
  static async start(options: RunningConfigurationOptions): Promise<RunningConfiguration> {
    const { succession } = options;
    if (!succession) return RunningConfiguration.#open(options);
    try {
      const running = await RunningConfiguration.#open(options);
      await succession.ready();
      for (const node of running.#nodes) await node.begin?.();
      return running;
    } catch (error) {
      succession.refuse(error);
      throw error;
    }
  }

  static async #open(options: RunningConfigurationOptions): Promise<RunningConfiguration> {
    const running = new RunningConfiguration(options, await loadConfiguration(options.file, options));
    await running.#openFleet();
    try {
      await running.#start();
    } catch (error) {
      await running.#fleet?.close();
      throw error;
    }
    for (const warning of running.#untold.splice(0)) running.#warn(warning);
    void running.upgrader?.left.then(() => running.#fleet?.silence());
    running.#followOn();
    return running;
  }

  #nodeOptions(): NodeOptions {
    const { upgrader } = this;
    const { node, succession } = this.#options;
    const fleet = this.#fleet;
    return {
      ...node,
      reload: this,
      ...(fleet && { fleet }),
      ...(upgrader && { upgrade: { status: () => upgrader.status(), upgrade: () => this.upgrade() } }),
      ...(succession && { succession }),
    };
  }

  private constructor(options: RunningConfigurationOptions, loaded: LoadedConfiguration) {
    this.#options = options;
    this.#loaded = loaded;
    this.#chosen = options.choose(loaded);
    this.#since = options.now();
    const { upgrade, succession, now } = options;
    const { generation = 0, predecessors = new Predecessors() } = succession ?? {};
    if (upgrade) this.upgrader = new Upgrader({ ...upgrade, generation, predecessors, now, nodes: () => this.#nodes });
    this.#source = resolve(options.file);
  }

  get nodes(): readonly RunningNode[] {
    return this.#nodes;
  }

  /** Whether the file has a map of nodes */
  get named(): boolean {
    return this.#loaded.named;
  }

  /** The sockets that another process can take over after this one has ended, by name */
  get sockets(): ReadonlyMap<string, number> {
    return new Map(this.#nodes.flatMap((node) => node.sockets?.() ?? []));
  }

  status(): ConfigurationStatus {
    return {
      version: this.#loaded.version,
      source: this.#source,
      since: this.#since.toISOString(),
      ...(this.#refused && { refused: this.#refused }),
    };
  }

  reload(): Promise<ReloadOutcome> {
    if (!this.#running) return this.#begin();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  /** Leaves the nodes to another process. A reload that runs ends before. */
  async upgrade(): Promise<UpgradeOutcome> {
    if (!this.upgrader) throw new Error('no process can take over');
    await this.#running;
    return this.upgrader.upgrade();
  }

  /** Closes the nodes once their connections have ended, or their time is over. Another process has taken over. */
  async retire(): Promise<void> {
    await Promise.all(this.#nodes.flatMap((node) => (node.retire ? [node.retire()] : [])));
  }

  /** Drains all nodes. A reload that runs ends before. */
  async close(drainMs?: number): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    // After an upgrade, the process that took over decides about those before.
    const earlier = this.upgrader?.busy ? undefined : this.#options.succession?.predecessors;
    await Promise.all([closeNodes(this.#nodes, drainMs), earlier?.drain()]);
    await this.#fleet?.close();
  }

  /** Joins the fleet. */
  async #openFleet(): Promise<void> {
    const { registry, directory } = this.#loaded;
    if (!registry) return;
    this.#fleet = await openFleet({
      registry,
      stateDirectory: this.#options.stateDirectory ?? join(directory, '.sheaf'),
      nodes: this.#chosen,
      now: () => performance.now(),
      timeOfDay: () => this.#options.now().getTime(),
      warn: (message) => this.#warn(message),
    });
  }

  /** Starts the nodes by the document of the operator where that can be used, otherwise by the file. */
  async #start(): Promise<void> {
    const { followed } = this.#fleet ?? {};
    this.#seen = followed?.current?.revision;
    if (followed?.current && (await this.#startByFollowed())) return;
    this.#nodes = await this.#startNodes(this.#chosen);
  }

  /** Returns whether the nodes run by the document of the operator. It begins on the terms of a reload, so that a start takes nothing that a running node refuses. */
  async #startByFollowed(): Promise<boolean> {
    const [file, source] = [this.#loaded, this.#source];
    let version: string | undefined;
    try {
      const name = this.#followedName;
      const loaded = await this.#load();
      version = loaded.version;
      const chosen = this.#checked(loaded);
      await this.#fleet?.use(loaded.registry?.known ?? new Map());
      // Nodes tell what they run by as they start.
      this.#loaded = loaded;
      this.#source = name ?? source;
      this.#nodes = await this.#startNodes(chosen);
      this.#chosen = chosen;
      return true;
    } catch (error) {
      this.#loaded = file;
      this.#source = source;
      await this.#fleet?.use(file.registry?.known ?? new Map());
      const { message } = this.#noteRefusal(error, version);
      this.#warn(`the configuration of the registry is refused, and the file is used: ${message}`);
      return false;
    }
  }

  #startNodes(chosen: readonly LoadedNode[]): Promise<RunningNode[]> {
    return startNodes(chosen, this.#nodeOptions());
  }

  /** Follows the operator from now on, also what came while the nodes started. */
  #followOn(): void {
    const { followed } = this.#fleet ?? {};
    if (!followed) return;
    followed.changed = () => void this.reload();
    if (followed.current?.revision !== this.#seen) void this.reload();
  }

  /** Returns the nodes of another configuration that run here. @throws UserError when a reload cannot change to it */
  #checked(loaded: LoadedConfiguration): readonly LoadedNode[] {
    const chosen = this.#options.choose(loaded);
    refuseOtherRegistry(this.#loaded.registry, loaded.registry);
    refuseFixed(this.#chosen, chosen);
    return chosen;
  }

  /** Reads the document of the operator where there is one, otherwise the file. */
  #load(): Promise<LoadedConfiguration> {
    const { followed } = this.#fleet ?? {};
    const name = this.#followedName;
    const instead = followed?.current && name !== undefined ? { text: followed.current.text, name } : undefined;
    return loadConfiguration(this.#options.file, { ...this.#options, instead });
  }

  /** Name of the operator's document for people */
  get #followedName(): string | undefined {
    const document = this.#fleet?.followed?.current;
    return document && `registry revision ${document.revision}`;
  }

  #warn(message: string): void {
    const [node] = this.#nodes;
    if (node) node.log.warn(message);
    else if (this.#untold.length < maxUntold) this.#untold.push(message);
  }

  #begin(): Promise<ReloadOutcome> {
    const { onReload } = this.#options;
    onReload?.begins();
    this.#running = this.#reload().finally(() => {
      this.#running = undefined;
      onReload?.ended();
    });
    return this.#running;
  }

  async #reload(): Promise<ReloadOutcome> {
    let version: string | undefined;
    try {
      if (this.#stopping.signal.aborted) throw stopping();
      if (this.upgrader?.busy)
        throw new UserError('RELOAD_REFUSED', 'another process takes over', {
          hint: 'that one reads the file as it is now',
        });
      if (this.#nodes.length === 0)
        throw new UserError('RELOAD_REFUSED', 'the node is starting', { hint: 'try again once it is ready' });
      const source = this.#followedName ?? resolve(this.#options.file);
      const loaded = await this.#load();
      version = loaded.version;
      const chosen = this.#checked(loaded);
      const changes = this.#chosen.flatMap((before) => changesOf(before, byName(chosen, before.name)));
      const prepared = await this.#inTime((signal) => this.#prepare(chosen, signal));
      // It never rejects, so that nothing comes between the change and the report of it.
      if (loaded.registry) await this.#fleet?.use(loaded.registry.known);
      prepared.commit();
      this.#source = source;
      await Promise.all(this.#nodes.flatMap((node) => (node.settled ? [node.settled()] : [])));
      return this.#accept(loaded, chosen, changes, prepared.warnings);
    } catch (error) {
      return this.#refuse(error, version);
    }
  }

  /** Calls `work` with a signal that is aborted when it takes too long, or when the nodes stop. */
  async #inTime<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const over = new AbortController();
    const stop = (): void => over.abort(stopping());
    const timer = setTimeout(() => over.abort(notReady()), this.#options.readyMs ?? readyMs).unref();
    this.#stopping.signal.addEventListener('abort', stop);
    try {
      return await work(over.signal);
    } finally {
      clearTimeout(timer);
      this.#stopping.signal.removeEventListener('abort', stop);
    }
  }

  #prepare(chosen: readonly LoadedNode[], signal: AbortSignal): Promise<Prepared> {
    const prepare = (node: RunningNode) =>
      node.prepare ? [() => node.prepare!(byName(chosen, node.name), signal)] : [];
    return prepareAll(this.#nodes.flatMap(prepare), signal);
  }

  #accept(
    loaded: LoadedConfiguration,
    chosen: readonly LoadedNode[],
    changes: ConfigurationChange[],
    warnings: readonly string[],
  ): ReloadOutcome {
    const { version } = loaded;
    if (version !== this.#loaded.version) this.#since = this.#options.now();
    this.#loaded = loaded;
    this.#chosen = chosen;
    this.#refused = undefined;
    for (const node of this.#nodes) {
      const own = changes.filter((change) => change.node === node.name);
      node.log.info({ version, changes: own.map(describeChange) }, 'configuration reloaded');
    }
    for (const warning of warnings) this.#nodes[0]?.log.warn(warning);
    return { accepted: true, version, changes, warnings: [...warnings] };
  }

  #refuse(error: unknown, version: string | undefined): ReloadOutcome {
    const refusal = this.#noteRefusal(error, version);
    const { code, message } = refusal;
    for (const node of this.#nodes)
      node.log.error(
        { code, error: message, version, ...(error instanceof UserError ? {} : { err: error }) },
        'the new configuration is refused; the old one stays in use',
      );
    return { accepted: false, refusal, ...(version !== undefined && { version }) };
  }

  #noteRefusal(error: unknown, version: string | undefined): Refusal {
    const refusal = refusalOf(error);
    this.#refused = { ...refusal, at: this.#options.now().toISOString(), ...(version !== undefined && { version }) };
    return refusal;
  }
}

const stopping = (): UserError => new UserError('RELOAD_REFUSED', 'the node is stopping', { hint: 'start it again' });

const notReady = (): UserError =>
  new UserError('RELOAD_REFUSED', 'the node was not ready for the configuration in time', {
    hint: 'look for a module, a file or an upstream that does not come, and try again',
  });

/** Says a change in a few words: `routes /api added`. */
export function describeChange({ option, change, name }: ConfigurationChange): string {
  return `${option}${name === undefined ? '' : ` ${name}`} ${change}`;
}

function byName(nodes: readonly LoadedNode[], name: string): LoadedNode {
  const found = nodes.find((node) => node.name === name);
  if (!found) throw new Error(`the node ${name} got lost`);
  return found;
}

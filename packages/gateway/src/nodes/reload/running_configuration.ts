import { resolve } from 'node:path';
import { loadConfiguration } from '../../configuration/load.js';
import { refusalOf } from '../../errors/refusal.js';
import { UserError } from '../../errors/user_error.js';
import type { LoadedConfiguration, LoadedNode } from '../../schema/loaded.js';
import type {
  ConfigurationChange,
  ConfigurationStatus,
  ReloadOutcome,
  ReloadSource,
} from '../../observability/configuration_report.js';
import type { UpgradeOutcome } from '../../observability/upgrade_report.js';
import { prepareAll, type Prepared } from '../life/reload.js';
import type { NodeOptions, RunningNode } from '../life/running_node.js';
import { closeNodes, startNodes } from '../start_nodes.js';
import { Predecessors } from '../../upgrade/predecessors.js';
import type { Succession } from '../../upgrade/succession.js';
import { Upgrader, type UpgraderOptions } from '../upgrade/upgrader.js';
import { changesOf } from './changes.js';
import { refuseFixed } from './fixed_options.js';

export interface RunningConfigurationOptions {
  file: string;
  /** Returns whether the files that a node names have to be on this machine. */
  filesOf?: (name: string) => boolean;
  /** Returns the nodes to run, of all nodes in the file. @throws UserError */
  choose: (loaded: LoadedConfiguration) => readonly LoadedNode[];
  node?: Omit<NodeOptions, 'reload'>;
  /** Present where another process can take over from this one */
  upgrade?: Pick<UpgraderOptions, 'command' | 'timeoutMs'>;
  /** Present where this process takes over from another one: its nodes wait for `begin`. */
  succession?: Succession;
  /** Returns the time of day. */
  now: () => Date;
}

/** The nodes of a configuration file that run in this process, which follow the file when they are told to */
export class RunningConfiguration implements ReloadSource {
  readonly #options: RunningConfigurationOptions;
  /** Present where another process can take over from this one */
  readonly upgrader: Upgrader | undefined;
  #loaded: LoadedConfiguration;
  #chosen: readonly LoadedNode[];
  #since: Date;
  #refused: ConfigurationStatus['refused'];
  #nodes: readonly RunningNode[] = [];
  #closed = false;
  /** The reload that runs */
  #running: Promise<ReloadOutcome> | undefined;
  /** The one that begins after it, for all who ask meanwhile */
  #next: Promise<ReloadOutcome> | undefined;

  /** Reads the file and starts its nodes. @throws UserError */
  static async start(options: RunningConfigurationOptions): Promise<RunningConfiguration> {
    const loaded = await loadConfiguration(options.file, options);
    const running = new RunningConfiguration(options, loaded);
    const { upgrader } = running;
    running.#nodes = await startNodes(running.#chosen, {
      ...options.node,
      reload: running,
      ...(upgrader && { upgrade: { status: () => upgrader.status(), upgrade: () => running.upgrade() } }),
      ...(options.succession && { succession: options.succession }),
    });
    return running;
  }

  private constructor(options: RunningConfigurationOptions, loaded: LoadedConfiguration) {
    this.#options = options;
    this.#loaded = loaded;
    this.#chosen = options.choose(loaded);
    this.#since = options.now();
    const { upgrade, succession, now } = options;
    const { generation = 0, predecessors = new Predecessors() } = succession ?? {};
    if (upgrade)
      this.upgrader = new Upgrader({ ...upgrade, generation, predecessors, now, nodes: () => this.#nodes });
  }

  get nodes(): readonly RunningNode[] {
    return this.#nodes;
  }

  /** Whether the file has a map of nodes */
  get named(): boolean {
    return this.#loaded.named;
  }

  status(): ConfigurationStatus {
    return {
      version: this.#loaded.version,
      source: resolve(this.#options.file),
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

  /** Makes nodes serve that have taken over from another process. */
  async begin(): Promise<void> {
    for (const node of this.#nodes) await node.begin?.();
  }

  /** Leaves the nodes to another process. A reload that runs ends before. */
  async upgrade(): Promise<UpgradeOutcome> {
    if (!this.upgrader) throw new Error('no process can take over');
    await this.#running;
    return this.upgrader.upgrade();
  }

  /** Closes the nodes once their connections have ended, or their time is over. Another process has taken over. */
  async retire(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.retire?.()));
  }

  /** Drains all nodes. A reload that runs ends before. */
  async close(drainMs?: number): Promise<void> {
    this.#closed = true;
    await this.#running;
    await closeNodes(this.#nodes, drainMs);
  }

  #begin(): Promise<ReloadOutcome> {
    this.#running = this.#reload().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #reload(): Promise<ReloadOutcome> {
    let version: string | undefined;
    try {
      if (this.#closed) throw new UserError('RELOAD_REFUSED', 'the node is stopping', { hint: 'start it again' });
      if (this.upgrader?.busy)
        throw new UserError('RELOAD_REFUSED', 'another process takes over', { hint: 'that one reads the file as it is now' });
      if (this.#nodes.length === 0)
        throw new UserError('RELOAD_REFUSED', 'the node is starting', { hint: 'try again once it is ready' });
      const loaded = await loadConfiguration(this.#options.file, this.#options);
      version = loaded.version;
      const chosen = this.#options.choose(loaded);
      refuseFixed(this.#chosen, chosen);
      const changes = this.#chosen.flatMap((before) => changesOf(before, byName(chosen, before.name)));
      const prepared = await this.#prepare(chosen);
      prepared.commit();
      await Promise.all(this.#nodes.map((node) => node.settled?.()));
      return this.#accept(loaded, chosen, changes, prepared.warnings);
    } catch (error) {
      return this.#refuse(error, version);
    }
  }

  #prepare(chosen: readonly LoadedNode[]): Promise<Prepared> {
    return prepareAll(
      this.#nodes.flatMap((node) => (node.prepare ? [() => node.prepare!(byName(chosen, node.name))] : [])),
    );
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
    const refusal = refusalOf(error);
    this.#refused = { ...refusal, at: this.#options.now().toISOString(), ...(version !== undefined && { version }) };
    const { code, message } = refusal;
    for (const node of this.#nodes)
      node.log.error(
        { code, error: message, version, ...(error instanceof UserError ? {} : { err: error }) },
        'the new configuration is refused; the old one stays in use',
      );
    return { accepted: false, refusal, ...(version !== undefined && { version }) };
  }
}

/** Says a change in a few words: `routes /api added`. */
export function describeChange({ option, change, name }: ConfigurationChange): string {
  return `${option}${name === undefined ? '' : ` ${name}`} ${change}`;
}

function byName(nodes: readonly LoadedNode[], name: string): LoadedNode {
  const found = nodes.find((node) => node.name === name);
  if (!found) throw new Error(`the node ${name} got lost`);
  return found;
}

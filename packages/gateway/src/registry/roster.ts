import type { NodePublicKey } from '../values/node_key.js';
import { EntryRefused, openEntry, parseBody } from './entry.js';
import type { FleetNode, FleetNodeState, FleetView } from './fleet_view.js';
import { isLater, isSame, nodeEntrySchema, type NodeEntry } from './node_entry.js';
import type { Trust } from './trust.js';

export interface RosterOptions {
  site: string;
  trust: Trust;
  /** Names of the nodes of this process */
  own: ReadonlySet<string>;
  /** Returns who holds the claim of a server id, if that is known. */
  holderOf: (serverId: Buffer) => string | undefined;
  /** Whether the registry told something a short time ago */
  isRecent: () => boolean;
  suspectMs: number;
  goneMs: number;
  /** Hears of listeners that fail. */
  failed: (error: unknown) => void;
}

interface Heard {
  entry: NodeEntry;
  publicKey: NodePublicKey;
  /** Revision at which the entry was read */
  revision: number;
  /** Time of the reader at which it was heard */
  at: number;
  state: FleetNodeState;
}

/** The nodes of the fleet as their heartbeats tell, judged by the clock of this reader */
export class Roster implements FleetView {
  readonly #options: RosterOptions;
  readonly #heard = new Map<string, Heard>();
  readonly #listeners = new Set<() => void>();
  #nodes: readonly FleetNode[] = [];
  #isRecent = false;

  constructor(options: RosterOptions) {
    this.#options = options;
  }

  get nodes(): readonly FleetNode[] {
    return this.#nodes;
  }

  get isRecent(): boolean {
    return this.#isRecent;
  }

  node(name: string): FleetNode | undefined {
    return this.#nodes.find((node) => node.name === name);
  }

  byServerId(serverId: Uint8Array): FleetNode | undefined {
    const having = this.#nodes.filter((node) => node.serverId?.equals(serverId));
    const holder = having.length > 1 ? this.#options.holderOf(Buffer.from(serverId)) : undefined;
    return having.find(({ name }) => name === holder) ?? having[0];
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  /** Returns which heartbeat of a node was read last. */
  beatOf(name: string): Pick<NodeEntry, 'incarnation' | 'counter'> | undefined {
    return this.#heard.get(name)?.entry;
  }

  /**
   * Reads a heartbeat. `at` is the time of this reader. Returns whether it is newer than the one before. @throws EntryRefused
   */
  accept(name: string, value: Buffer, revision: number, at: number): boolean {
    const { site, trust } = this.#options;
    const key = `node.${name}`;
    const publicKey = trust.keyOf(name);
    if (!publicKey) throw new EntryRefused('unknown', `the configuration has no public key of the node \`${name}\``);
    const { signer, body } = openEntry(value, { site, key });
    if (!signer.equals(publicKey))
      throw new EntryRefused('forged', `${key} is signed by ${signer.toString()}, not by the key of \`${name}\``);
    const entry = parseBody(key, body, nodeEntrySchema);
    const before = this.#heard.get(name);
    if (before && !isLater(entry, before.entry)) {
      // A list may be read later than the changes after it; and what was read from the copy is there again.
      if (revision <= before.revision || isSame(entry, before.entry)) return false;
      throw new EntryRefused('replayed', `${key} is older than what the node said before`);
    }
    this.#heard.set(name, { entry, publicKey, revision, at, state: entry.stopped ? 'gone' : 'alive' });
    this.#update();
    return true;
  }

  /** Judges all nodes at this time of the reader. */
  judge(at: number): void {
    const { suspectMs, goneMs, trust } = this.#options;
    for (const [name, heard] of this.#heard) {
      if (trust.keyOf(name)?.equals(heard.publicKey) !== true) {
        this.#heard.delete(name);
        continue;
      }
      const silence = at - heard.at;
      if (heard.entry.stopped || silence >= goneMs) heard.state = 'gone';
      else heard.state = silence >= suspectMs ? 'suspect' : 'alive';
    }
    this.#update();
  }

  /** Tells listeners what differs for them: a counter alone does not. */
  #update(): void {
    const before = [this.#isRecent, this.#nodes];
    this.#isRecent = this.#options.isRecent();
    this.#nodes = [...this.#heard]
      .filter(([, { state }]) => state !== 'gone')
      .map(([name, { entry, publicKey, state }]): FleetNode => {
        const { stopped: _stopped, incarnation: _incarnation, counter: _counter, ...description } = entry;
        return { ...description, name, state, publicKey, own: this.#options.own.has(name) };
      })
      .sort((left, right) => (left.name < right.name ? -1 : 1));
    if (JSON.stringify(before) === JSON.stringify([this.#isRecent, this.#nodes])) return;
    for (const changed of [...this.#listeners]) this.#tell(changed);
  }

  /** What a listener cannot do with the view is no fault of the entry, and others hear of it all the same. */
  #tell(changed: () => void): void {
    try {
      changed();
    } catch (error) {
      this.#options.failed(error);
    }
  }
}

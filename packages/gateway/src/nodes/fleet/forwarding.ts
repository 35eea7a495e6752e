import {
  maxMachines,
  openMachineLink,
  type Machine,
  type MachineLink,
  type MachineLinkCounts,
  type WorkerGroup,
} from '@sheaf/native';
import type { ForwardingStatus } from '../../observability/status.js';
import type { FleetView } from '../../registry/fleet_view.js';
import type { LoadedGateway } from '../../schema/loaded.js';
import { listenerScope } from '../../tls/reset_secret.js';
import type { SecretsSource } from '../../tls/secrets_source.js';
import { formatAddress, listenError } from '../../values/listen_error.js';
import type { ListenAddress } from '../../values/scalars.js';

/**
 * Time in milliseconds for which a machine that the registry no longer knows is kept: its clients hear from this one that their
 * connections are gone. Longer than most of them wait
 */
const keptMs = 10 * 60_000;

/** Another machine, as the link wants it */
type KnownMachine = Machine & { serverId: Buffer };

export interface ForwardingOptions {
  loaded: LoadedGateway;
  /** The workers of the node */
  group: WorkerGroup;
  secrets: SecretsSource;
  view: FleetView;
}

/** Passes datagrams on to the machines of the fleet whose connections they belong to, as the registry tells of them. */
export class Forwarding {
  readonly #link: MachineLink;
  readonly #options: ForwardingOptions;
  readonly #serverId: Buffer;
  readonly #unwatch: () => void;
  #machines = 0;
  /** Machines that the registry knew, by server id, and until when they are kept */
  readonly #gone = new Map<string, { machine: KnownMachine; until: number }>();
  /** Those that it knew last */
  #known: readonly KnownMachine[] = [];
  /** What the link was given last, as text */
  #given = '';

  /** Opens the link, if the configuration wants one. @throws UserError when its address is not available */
  static open(options: ForwardingOptions): Forwarding | undefined {
    return options.loaded.node.forward && new Forwarding(options);
  }

  private constructor(options: ForwardingOptions) {
    this.#options = options;
    const { loaded, group, secrets, view } = options;
    const { connection_ids: ids, forward } = loaded.node;
    if (!ids || !forward) throw new Error(`${loaded.name} passes nothing on`);
    const { listen, first_packets: first } = forward;
    this.#serverId = Buffer.from(ids.server_id, 'hex');
    try {
      this.#link = openMachineLink({
        ...listen,
        group,
        serverId: { id: this.#serverId, encrypted: ids.encrypted },
        secrets: secrets.secrets,
        sharesFirst: first === 'shared',
      });
    } catch (error) {
      throw listenError(error, listen, 'UDP', loaded.place(['forward', 'listen']));
    }
    try {
      this.#follow();
    } catch (error) {
      this.#link.close();
      throw error;
    }
    this.#unwatch = view.onChange(() => this.#follow());
  }

  get address(): ListenAddress {
    const { address, port } = this.#link.address;
    return { address, port };
  }

  counts(): MachineLinkCounts {
    return this.#link.counts();
  }

  status(): ForwardingStatus {
    const { address, lostMachines } = this.#link;
    return { listen: formatAddress(address), machines: this.#machines, lostMachines, ...this.#link.counts() };
  }

  /** Seals and opens by the secrets as they are now. */
  useSecrets(): void {
    this.#link.updateSecrets(this.#options.secrets.secrets);
  }

  close(): void {
    this.#unwatch();
    this.#link.close();
  }

  /**
   * Connections may live on a node whose heartbeats are missing, so it stays. When it does not answer the link either, its clients
   * get stateless resets: also for a time after the registry has forgotten it.
   */
  #follow(): void {
    const known = this.#livingMachines();
    this.#keepGone(known);
    this.#known = known;
    const gone = [...this.#gone.values()].map(({ machine }) => ({ ...machine, opens: false, missing: true }));
    const machines = [...known, ...gone].slice(0, maxMachines);
    const text = JSON.stringify(machines);
    if (text === this.#given) return;
    this.#link.setMachines(machines);
    this.#given = text;
    this.#machines = machines.length;
  }

  #livingMachines(): KnownMachine[] {
    const { view } = this.#options;
    return view.nodes.flatMap(({ own, serverId, forwarding, listen, state, draining }) => {
      if (own || !forwarding || serverId?.byteLength !== this.#serverId.byteLength) return [];
      // Of two nodes with one id, the registry says whose it is.
      const holder = view.byServerId(serverId);
      if (holder?.forwarding !== forwarding || serverId.equals(this.#serverId)) return [];
      const opens = state === 'alive' && !draining;
      const resetScope = listenerScope(listen);
      return [{ serverId, ...forwarding, opens, missing: state !== 'alive', resetScope }];
    });
  }

  #keepGone(known: readonly KnownMachine[]): void {
    const now = performance.now();
    const here = new Set(known.map(({ serverId }) => serverId.toString('hex')));
    for (const machine of this.#known) {
      const id = machine.serverId.toString('hex');
      if (here.has(id)) continue;
      this.#gone.set(id, { machine, until: now + keptMs });
      setTimeout(() => this.#follow(), keptMs).unref();
    }
    for (const [id, { until }] of this.#gone) if (here.has(id) || until <= now + 1) this.#gone.delete(id);
  }
}

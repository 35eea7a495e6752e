import { openMachineLink, type MachineLink, type MachineLinkCounts, type WorkerGroup } from '@sheaf/native';
import type { ForwardingStatus } from '../../observability/status.js';
import type { FleetView } from '../../registry/fleet_view.js';
import type { LoadedGateway } from '../../schema/loaded.js';
import type { SecretsSource } from '../../tls/secrets_source.js';
import { formatAddress, listenError } from '../../values/listen_error.js';
import type { ListenAddress } from '../../values/scalars.js';
import { KnownMachines } from './known_machines.js';

/** Time in milliseconds after which the link hears again which machines others miss. It believes it for somewhat longer. */
const retellMs = 1_000;

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
  readonly #known: KnownMachines;
  readonly #unwatch: () => void;
  #machines = 0;
  /** Runs when a machine is kept no longer, or others miss one. */
  #timer: NodeJS.Timeout | undefined;
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
    const serverId = Buffer.from(ids.server_id, 'hex');
    this.#known = new KnownMachines(serverId, view);
    try {
      this.#link = openMachineLink({
        ...listen,
        group,
        serverId: { id: serverId, encrypted: ids.encrypted },
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
    clearTimeout(this.#timer);
    this.#link.close();
  }

  #follow(): void {
    const now = performance.now();
    const machines = this.#known.update(now);
    const isMissed = machines.some(({ missing }) => missing);
    this.#followAgain(Math.min(isMissed ? retellMs : Infinity, (this.#known.nextEnd ?? Infinity) - now));
    const text = JSON.stringify(machines);
    if (text === this.#given && !isMissed) return;
    this.#link.setMachines(machines);
    this.#given = text;
    this.#machines = machines.length;
  }

  #followAgain(inMs: number): void {
    clearTimeout(this.#timer);
    // A timer may come a little early.
    this.#timer = inMs === Infinity ? undefined : setTimeout(() => this.#follow(), inMs + 1).unref();
  }
}

import {
  maxMachines,
  openMachineLink,
  type MachineLink,
  type MachineLinkCounts,
  type WorkerGroup,
} from '@sheaf/native';
import type { ForwardingStatus } from '../../observability/status.js';
import type { FleetView } from '../../registry/fleet_view.js';
import type { LoadedGateway } from '../../schema/loaded.js';
import type { SecretsSource } from '../../tls/secrets_source.js';
import { formatAddress, listenError } from '../../values/listen_error.js';
import type { ListenAddress } from '../../values/scalars.js';

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
    return { listen: formatAddress(this.#link.address), machines: this.#machines, ...this.#link.counts() };
  }

  /** Seals and opens by the secrets as they are now. */
  useSecrets(): void {
    this.#link.updateSecrets(this.#options.secrets.secrets);
  }

  close(): void {
    this.#unwatch();
    this.#link.close();
  }

  /** Connections may live on a node whose heartbeats are missing, so it stays until it is gone. */
  #follow(): void {
    const { view } = this.#options;
    const machines = view.nodes.flatMap(({ own, serverId, forwarding, state, draining }) => {
      if (own || !forwarding || serverId?.byteLength !== this.#serverId.byteLength) return [];
      // Of two nodes with one id, the registry says whose it is.
      const holder = view.byServerId(serverId);
      if (holder?.forwarding !== forwarding || serverId.equals(this.#serverId)) return [];
      return [{ serverId, ...forwarding, opens: state === 'alive' && !draining }];
    });
    const known = machines.slice(0, maxMachines);
    const text = JSON.stringify(known);
    if (text === this.#given) return;
    this.#link.setMachines(known);
    this.#given = text;
    this.#machines = known.length;
  }
}

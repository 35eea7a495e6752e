import { addon, type NativeMachineLink } from './addon.js';
import type { SocketAddress } from './address.js';
import { checkSecrets, checkServerId } from './server_secrets.js';
import type { ServerId, ServerSecret } from './transport_options.js';
import type { WorkerGroup } from './worker_group.js';

/** Maximum number of other machines of a fleet. */
export const maxMachines = 255;

/** Another machine of the fleet. */
export interface Machine {
  /** Its server id, of as many bytes as that of this machine. */
  serverId: Uint8Array;
  /** IP address and UDP port of its link. */
  address: string;
  /** UDP port of its link. */
  port: number;
  /** Whether it takes new connections: it gets no first packets otherwise. Default true. */
  opens?: boolean;
  /**
   * Whether others hear nothing of it, too. Once it does not answer this machine any more either, it is lost: clients of its
   * connections get stateless resets here. It holds for three seconds, and has to be said again until then. Default false.
   */
  missing?: boolean;
  /** The `resetScope` of the servers that its clients have connections to. Default: the empty text. */
  resetScope?: string;
}

/** Options of {@link openMachineLink}. */
export interface MachineLinkOptions {
  /** IP address on which datagrams of other machines are awaited. */
  address: string;
  /** UDP port; 0 lets the system choose. */
  port: number;
  /** Group of workers whose clients the datagrams belong to. It listens on IP addresses, not on all of the host. */
  group: WorkerGroup;
  /** As the servers of the group have it. */
  serverId: ServerId;
  /** Secrets of the fleet: the first one seals, and all of them open. At least one. */
  secrets: readonly ServerSecret[];
  /**
   * Whether first packets of clients, whose ids name no server, go to one machine that all agree on, wherever they arrive. Set it behind
   * a balancer that may give each datagram of a client to another machine, and in front of which all machines have one address.
   * Default false.
   */
  sharesFirst?: boolean;
}

/** Counts of datagrams since the link was opened. */
export interface MachineLinkCounts {
  /** Passed on to other machines. */
  sent: number;
  /** Lost on the way to other machines: too many at one time, or the network refused them. */
  dropped: number;
  /** Taken from other machines. */
  received: number;
  /** Not sealed by a machine of the fleet for this one. */
  refused: number;
}

/**
 * The way between the machines of a fleet. A datagram that belongs to another machine, by the server id in its connection id, goes
 * there in sealed form. No datagram is passed on twice. The machines ask each other all the time whether they are there; a machine
 * answers while one of its workers runs, whatever its other threads do.
 */
export interface MachineLink {
  /** Where the link listens. */
  readonly address: SocketAddress;
  /** How many machines are lost now, as {@link Machine.missing} says. */
  readonly lostMachines: number;
  /** Sets all other machines; again and again while some are `missing`. @throws TypeError when one has no IP address, or there are more than {@link maxMachines} */
  setMachines(machines: readonly Machine[]): void;
  /** Sets the secrets of the fleet. @throws TypeError when one is malformed, or there is none */
  updateSecrets(secrets: readonly ServerSecret[]): void;
  /** Returns the counts. */
  counts(): MachineLinkCounts;
  /** Closes the socket. What belongs to others is no longer passed on. */
  close(): void;
}

function someSecrets(secrets: readonly ServerSecret[]): readonly ServerSecret[] {
  if (secrets.length === 0) throw new TypeError('machines of a fleet share `secrets`, and there are none');
  return checkSecrets(secrets);
}

class Link implements MachineLink {
  readonly #native: NativeMachineLink;
  readonly #idLength: number;
  readonly address: SocketAddress;

  constructor({ address, port, group, serverId, secrets, sharesFirst = false }: MachineLinkOptions) {
    const id = checkServerId({ serverId, secrets });
    this.#idLength = id.id.byteLength;
    this.#native = new (addon().MachineLink)(group.number, { address, port }, id, someSecrets(secrets), sharesFirst);
    this.address = this.#native.address();
  }

  setMachines(machines: readonly Machine[]): void {
    if (machines.length > maxMachines) throw new TypeError(`a fleet has at most ${maxMachines + 1} machines`);
    for (const { serverId } of machines) {
      if (serverId.byteLength !== this.#idLength) throw new TypeError('all machines have server ids of one length');
    }
    this.#native.setMachines(machines.map((machine) => ({ opens: true, missing: false, resetScope: '', ...machine })));
  }

  updateSecrets(secrets: readonly ServerSecret[]): void {
    this.#native.setSecrets(someSecrets(secrets));
  }

  counts(): MachineLinkCounts {
    const [sent, dropped, received, refused] = this.#native.counts();
    return { sent, dropped, received, refused };
  }

  get lostMachines(): number {
    return this.#native.lostMachines();
  }

  close(): void {
    this.#native.close();
  }
}

/**
 * Opens the link of this machine.
 * @throws TypeError for options that are wrong; an error with `code` when the address is not available
 */
export function openMachineLink(options: MachineLinkOptions): MachineLink {
  return new Link(options);
}

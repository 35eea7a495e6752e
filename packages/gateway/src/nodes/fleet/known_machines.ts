import { maxMachines, type Machine } from '@sheaf/native';
import type { FleetView } from '../../registry/fleet_view.js';
import { listenerScope } from '../../tls/reset_secret.js';

/**
 * Time in milliseconds for which a machine that the registry no longer knows is kept: its clients hear from this one that their
 * connections are gone. Longer than most of them wait
 */
const keptMs = 10 * 60_000;

/** Another machine */
interface KnownMachine {
  machine: Machine;
  /** Whether its heartbeats are missed */
  isSuspect: boolean;
}

/** The other machines of the fleet, as the registry tells of them, and those that it forgot while their heartbeats were missed */
export class KnownMachines {
  readonly #serverId: Buffer;
  readonly #view: FleetView;
  /** Those that the registry knew last, by server id */
  #known = new Map<string, KnownMachine>();
  /** Those that it knew before, and until when they are kept */
  readonly #kept = new Map<string, { machine: Machine; until: number }>();

  /** `serverId` is that of this machine. */
  constructor(serverId: Buffer, view: FleetView) {
    this.#serverId = serverId;
    this.#view = view;
  }

  /** When the next machine is kept no longer */
  get nextEnd(): number | undefined {
    const ends = [...this.#kept.values()].map(({ until }) => until);
    return ends.length > 0 ? Math.min(...ends) : undefined;
  }

  /**
   * Returns all as the view has them now. Connections may live on a machine whose heartbeats are missed, so it stays. When it does
   * not answer the link either, its clients get stateless resets. While the registry is away, nobody knows whose heartbeats are missed.
   */
  update(now: number): Machine[] {
    const known = this.#read();
    for (const [id, { machine, isSuspect }] of this.#known)
      if (isSuspect && !known.has(id)) this.#kept.set(id, { machine, until: now + keptMs });
    const living = this.#living();
    for (const [id, { until }] of this.#kept)
      if (known.has(id) || living.has(id) || until <= now) this.#kept.delete(id);
    this.#known = known;
    const { isRecent } = this.#view;
    const here = [...known.values()].map(({ machine, isSuspect }) => ({ ...machine, missing: isSuspect && isRecent }));
    const kept = [...this.#kept.values()].map(({ machine }) => ({ ...machine, opens: false, missing: isRecent }));
    return [...here, ...kept].slice(0, maxMachines);
  }

  #read(): Map<string, KnownMachine> {
    const view = this.#view;
    return new Map(
      view.nodes.flatMap(({ own, serverId, forwarding, listen, state, draining }): [string, KnownMachine][] => {
        if (own || !forwarding || serverId?.byteLength !== this.#serverId.byteLength) return [];
        // Of two nodes with one id, the registry says whose it is.
        const holder = view.byServerId(serverId);
        if (holder?.forwarding !== forwarding || serverId.equals(this.#serverId)) return [];
        const isSuspect = state !== 'alive';
        const opens = !isSuspect && !draining;
        const machine = { serverId, ...forwarding, opens, resetScope: listenerScope(listen) };
        return [[serverId.toString('hex'), { machine, isSuspect }]];
      }),
    );
  }

  /** Server ids of nodes whose heartbeats arrive, whether they take datagrams from others or not */
  #living(): Set<string> {
    return new Set(
      this.#view.nodes.flatMap(({ serverId, state }) =>
        serverId && state === 'alive' ? [serverId.toString('hex')] : [],
      ),
    );
  }
}

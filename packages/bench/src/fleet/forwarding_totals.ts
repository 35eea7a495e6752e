import type { ForwardingStatus } from '@sheaf/gateway';
import type { FleetNode } from './fleet_nodes.js';

const counted = ['sent', 'received', 'dropped', 'refused'] as const;
export type ForwardedDatagrams = Record<(typeof counted)[number], number>;

/** Datagrams that gateways passed on to each other, over all their processes */
export class ForwardingTotals {
  readonly #gateways: readonly FleetNode[];
  readonly #last = new Map<string, { pid: number; counts: ForwardingStatus }>();
  #total: ForwardedDatagrams = { sent: 0, received: 0, dropped: 0, refused: 0 };

  constructor(gateways: readonly FleetNode[]) {
    this.#gateways = gateways;
  }

  /** Asks the gateways. What a process counted after the last call before it was killed is not in the total. */
  async sample(): Promise<void> {
    await Promise.all(
      this.#gateways.map(async (gateway) => {
        const status = await gateway.status();
        if (!status?.forwarding) return;
        const before = this.#last.get(gateway.name);
        const known = before?.pid === status.pid ? before.counts : undefined;
        for (const count of counted) this.#total[count] += status.forwarding[count] - (known?.[count] ?? 0);
        this.#last.set(gateway.name, { pid: status.pid, counts: status.forwarding });
      }),
    );
  }

  /** Returns the counts since the last call, as of the latest sample. */
  take(): ForwardedDatagrams {
    const total = this.#total;
    this.#total = { sent: 0, received: 0, dropped: 0, refused: 0 };
    return total;
  }
}

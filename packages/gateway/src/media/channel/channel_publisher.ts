import { randomBytes } from 'node:crypto';
import type { ChannelSource } from '@sheaf/native';
import type { Broadcast } from '../model/broadcast.js';
import type { Broadcasts } from '../model/broadcasts.js';
import type { Clock } from '../model/clock.js';
import { MOQ_LIMITS } from '../moq/messages.js';
import { BroadcastCarrier } from './broadcast_carrier.js';
import { encodeList } from './pieces.js';
import { SegmentWriter } from './segment_writer.js';

export interface ChannelPublisherOptions {
  source: Pick<ChannelSource, 'openGroup'>;
  broadcasts: Broadcasts;
  /** The number of this node in announcements */
  origin: bigint;
  clock: Clock;
}

/** Carries all broadcasts of a media route to a channel. */
export class ChannelPublisher {
  /** The newest broadcast of each name, until all of it was written */
  readonly #carriers = new Map<string, BroadcastCarrier>();
  readonly #writer: SegmentWriter;
  readonly #stop: () => void;

  constructor({ source, broadcasts, origin, clock }: ChannelPublisherOptions) {
    const list = (): Buffer =>
      encodeList({
        origin,
        broadcasts: [...this.#carriers.values()].map(({ id, broadcast: { name, hops } }) => ({ id, name, hops })),
      });
    this.#writer = new SegmentWriter({ source, clock, list });
    this.#stop = broadcasts.watch((broadcast, active) => {
      if (active) this.#begin(broadcast);
    });
    for (const broadcast of broadcasts.all) this.#begin(broadcast);
    this.#announce();
  }

  close(): void {
    this.#stop();
    this.#writer.close();
  }

  #begin(broadcast: Broadcast): void {
    // A receiver that adds this node to them would have too many.
    if (broadcast.hops.length >= MOQ_LIMITS.hops) return;
    const id = Number(`0x${randomBytes(6).toString('hex')}`);
    const carrier = new BroadcastCarrier(broadcast, id, this.#writer);
    this.#carriers.set(broadcast.name, carrier);
    this.#announce();
    void this.#run(carrier);
  }

  /** Keeps a broadcast in the list until it has ended, and what came before its end was written. */
  async #run(carrier: BroadcastCarrier): Promise<void> {
    await carrier.run();
    if (this.#carriers.get(carrier.broadcast.name) !== carrier) return;
    this.#carriers.delete(carrier.broadcast.name);
    this.#announce();
  }

  /** A channel that is closed takes no list, and needs none. */
  #announce(): void {
    this.#writer.announce().catch(() => undefined);
  }
}

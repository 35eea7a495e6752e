import { readFrames, type LeaveReason, type ReceivedGroup } from '@sheaf/native';
import type { Logger } from 'pino';
import type { Clock } from '../model/clock.js';
import type { Group } from '../model/group.js';
import { CarriedBroadcasts, type CarriedBroadcastsOptions } from './carried_broadcasts.js';
import { SegmentQueue } from './segment_queue.js';
import { incomplete, SegmentReader } from './segment_reader.js';

/** Milliseconds for which broadcasts go on without their channel, which may come back */
const graceMs = 10_000;

/** What is needed of a channel that this process receives */
export interface ReceivedChannel {
  on(event: 'group', listener: (group: ReceivedGroup) => void): unknown;
  on(event: 'close', listener: (reason: LeaveReason | undefined) => void): unknown;
}

export interface ChannelReceiverOptions extends CarriedBroadcastsOptions {
  log: Logger;
}

/** Feeds broadcasts from a channel, which may end and come back. */
export class ChannelReceiver {
  readonly #broadcasts: CarriedBroadcasts;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Groups of media that have not ended. The next segment goes on with them, or they are incomplete. */
  #unfinished = new Set<Group>();
  #revokeEnd: () => void = () => undefined;
  #unreadable = 0;

  constructor(options: ChannelReceiverOptions) {
    this.#broadcasts = new CarriedBroadcasts(options);
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Groups of the channel that were no segments, or not read to their ends */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** Takes what a channel brings. Resolves when it is over, with the reason of this side. */
  async run(channel: ReceivedChannel): Promise<LeaveReason | undefined> {
    const queue = new SegmentQueue();
    channel.on('group', (group) => queue.push(group));
    const over = new Promise<LeaveReason | undefined>((resolve) => {
      channel.on('close', (reason) => {
        queue.end();
        resolve(reason);
      });
    });
    let newest = -1;
    for (let segment = await queue.next(); segment; segment = await queue.next()) {
      await this.#read(segment, segment.id > newest);
      newest = Math.max(newest, segment.id);
    }
    this.#revokeEnd();
    this.#revokeEnd = this.#clock.after(graceMs, () => this.close());
    return over;
  }

  /** Ends all broadcasts. */
  close(): void {
    this.#revokeEnd();
    this.#broadcasts.clear();
    this.#unfinished.clear();
  }

  async #read(segment: ReceivedGroup, isNewest: boolean): Promise<void> {
    const reader = new SegmentReader(this.#broadcasts, isNewest);
    try {
      for await (const piece of readFrames(segment)) {
        reader.take(piece);
        this.#revokeEnd();
      }
    } catch (error) {
      this.#unreadable += 1;
      this.#log.debug({ segment: segment.id, error: String(error) }, 'a segment of the channel ended early');
    }
    if (!isNewest || !reader.begun) return;
    const before = this.#unfinished;
    this.#unfinished = reader.unfinished;
    for (const group of before) if (!this.#unfinished.has(group)) group.abort(incomplete(group));
  }
}

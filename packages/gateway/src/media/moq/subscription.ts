import type { Clock } from '../model/clock.js';
import type { Group } from '../model/group.js';
import { MEDIA_ERRORS, MediaError } from '../model/media_error.js';
import type { Track } from '../model/track.js';
import type { TrackReader } from '../model/track_reader.js';
import type { ByteReader } from './byte_reader.js';
import { varint } from './fields.js';
import { GroupSender } from './group_sender.js';
import {
  DATA_STREAM,
  decodeSubscribeUpdate,
  encodeGroupHead,
  encodeSubscribeResponse,
  type Subscribe,
  type SubscribeOptions,
} from './messages.js';
import type { MoqStream, MoqStreams } from './moq_streams.js';
import type { SentBytes } from './sent_bytes.js';

/** Groups that are on their way to one viewer at one time */
const usuallySending = 8;

/** Milliseconds for which a group may still be sent after the next one began, when the viewer wants less */
const minLatency = 1_000;

/** Lowest urgency (RFC 9218). Requests have 0, groups 1 to 7. */
const lastUrgency = 7;

export interface SubscriptionOptions {
  streams: MoqStreams;
  track: Track;
  request: Subscribe;
  /** Milliseconds for which groups are kept */
  history: number;
  clock: Clock;
  /** Groups that are on their way at one time. The oldest gives way. */
  maxSending?: number | undefined;
}

/** One viewer's subscription to a track. Each group has its own stream; a viewer that is too slow loses whole groups. */
export class Subscription {
  /** Groups on their way; those with a newer one behind them have a function that revokes their end */
  readonly #senders = new Map<GroupSender, (() => void) | undefined>();
  #wanted: SubscribeOptions;
  #reader: TrackReader | undefined;
  readonly #over = new AbortController();
  #last = -1;

  constructor(private readonly options: SubscriptionOptions) {
    this.#wanted = options.request;
  }

  /** Runs until the viewer ends it, or the track has ended and everything was sent. @throws MediaError when there is no such track */
  async run({ reader, sent }: MoqStream): Promise<void> {
    const left = this.#readUpdates(reader);
    const served = this.#serve(sent);
    // The other one may fail later, when nobody waits for it any more.
    left.catch(() => undefined);
    served.catch(() => undefined);
    try {
      await Promise.race([served, left]);
    } finally {
      this.#end();
    }
  }

  /** Resolves when the viewer ends the subscription. */
  async #readUpdates(reader: ByteReader): Promise<void> {
    for (;;) {
      const message = await reader.message();
      if (message === undefined) return;
      this.#wanted = decodeSubscribeUpdate(message);
      this.#rank();
    }
  }

  async #serve(sent: SentBytes): Promise<void> {
    const { track } = this.options;
    await track.ready(this.#over.signal);
    if (this.#isOver) return;
    this.#reader = track.read(this.#wanted.start);
    await this.#sendGroups(this.#reader, sent);
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  get #lastWanted(): number {
    return this.#wanted.end ?? Infinity;
  }

  async #sendGroups(reader: TrackReader, sent: SentBytes): Promise<void> {
    let first = true;
    const running = new Set<Promise<void>>();
    for (;;) {
      const group = await reader.next();
      if (group === undefined || this.#isOver) break;
      if (group.sequence > this.#lastWanted) break;
      if (first) await sent.write(encodeSubscribeResponse({ kind: 'start', group: group.sequence }));
      first = false;
      const sender = await this.#open(group);
      if (sender === undefined) {
        const { sequence } = group;
        const code = MEDIA_ERRORS.expired;
        await sent.write(encodeSubscribeResponse({ kind: 'drop', first: sequence, last: sequence, code }));
        continue;
      }
      const done = this.#send(sender).finally(() => running.delete(done));
      running.add(done);
      if (group.sequence === this.#lastWanted) break;
    }
    await Promise.all(running);
    if (!this.#isOver) await sent.write(encodeSubscribeResponse({ kind: 'end', group: this.#last + 1 }));
  }

  /** Opens the stream of a group. Returns undefined when the group is no longer kept by then. */
  async #open(group: Group): Promise<GroupSender | undefined> {
    const stream = await this.options.streams.unidirectional();
    const sender = new GroupSender(stream, group);
    if (!this.#isOver && group.error?.kind !== 'expired') return sender;
    sender.stop(new MediaError('expired', 'the group is no longer wanted'));
    return undefined;
  }

  async #send(sender: GroupSender): Promise<void> {
    const { id } = this.options.request;
    const { sequence } = sender.group;
    this.#last = Math.max(this.#last, sequence);
    this.#senders.set(sender, undefined);
    this.#expireOlder();
    this.#rank();
    const head = Buffer.concat([varint(DATA_STREAM.group), encodeGroupHead({ subscription: id, sequence })]);
    await sender.run(head);
    this.#senders.get(sender)?.();
    this.#senders.delete(sender);
    this.#rank();
  }

  /** Gives groups that are not the newest a time by which they have to be sent. */
  #expireOlder(): void {
    const { clock, history, maxSending = usuallySending } = this.options;
    const expired = new MediaError('expired', 'a newer group took its place');
    const older = this.#inOrder().filter(({ group }) => group.sequence < this.#last);
    for (const sender of older.slice(0, -maxSending)) sender.stop(expired);
    const latency = Math.min(Math.max(this.#wanted.maxLatency, minLatency), history);
    for (const sender of older) {
      if (this.#senders.get(sender)) continue;
      this.#senders.set(
        sender,
        clock.after(latency, () => sender.stop(expired)),
      );
    }
  }

  /** Sets the order among the groups: of the track by its priority, of the groups by number. */
  #rank(): void {
    const base = lastUrgency - Math.floor((this.#wanted.priority * lastUrgency) / 256);
    const order = this.#inOrder();
    if (!this.#wanted.ordered) order.reverse();
    for (const [position, sender] of order.entries()) sender.setUrgency(Math.min(lastUrgency, base + position));
  }

  #inOrder(): GroupSender[] {
    return [...this.#senders.keys()].sort((left, right) => left.group.sequence - right.group.sequence);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#over.abort();
    this.#reader?.close();
    for (const [sender, revoke] of this.#senders) {
      revoke?.();
      sender.stop(new MediaError('cancelled', 'the subscription has ended'));
    }
  }
}

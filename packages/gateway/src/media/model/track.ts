import { Wakeup } from '@sheaf/web-client/wakeup';
import { makeFrame } from './frame.js';
import { costOf, Group } from './group.js';
import type { GroupCache } from './group_cache.js';
import { MediaError } from './media_error.js';
import { TrackReader } from './track_reader.js';

/** What a publisher says about a track once, for its whole life */
export interface TrackInfo {
  /** 0 to 255; the highest is sent first */
  readonly priority: number;
  /** True: older groups are sent first */
  readonly ordered: boolean;
  /** Milliseconds for which the publisher keeps groups */
  readonly cache: number;
  /** Units of timestamps in a second */
  readonly timescale: number;
}

/**
 * A series of groups. A publisher adds groups by `begin`, in any order, and frames to them. Readers begin at any group that is kept.
 * A reader that is too slow loses whole groups, and never holds memory of others.
 */
export class Track {
  readonly #groups = new Map<number, Group>();
  readonly #readers = new Set<TrackReader>();
  readonly #changed = new Wakeup();
  #info: TrackInfo | undefined;
  #newest: Group | undefined;
  /** Highest number of a group that is no longer kept */
  #dropped = -1;
  #ended = false;
  #changes = 0;
  #error: MediaError | undefined;

  constructor(
    readonly name: string,
    private readonly cache: GroupCache,
    /** Called when the first reader came, and when the last one has left */
    private readonly onReaders: (track: Track, readers: number) => void = () => undefined,
  ) {}

  get info(): TrackInfo | undefined {
    return this.#info;
  }
  get newest(): Group | undefined {
    return this.#newest;
  }
  /** Whether all groups have begun */
  get ended(): boolean {
    return this.#ended;
  }
  get error(): MediaError | undefined {
    return this.#error;
  }
  /** Whether it has readers */
  get isRead(): boolean {
    return this.#readers.size > 0;
  }
  get open(): boolean {
    return !this.#ended && this.#error === undefined;
  }
  /** Grows with each change: whoever derives something from the track tells by it whether that still holds */
  get changes(): number {
    return this.#changes;
  }
  /** Groups that are kept, the lowest number first */
  get groups(): Group[] {
    return [...this.#groups.values()].sort((left, right) => left.sequence - right.sequence);
  }
  group(sequence: number): Group | undefined {
    return this.#groups.get(sequence);
  }

  // --- publisher ---

  accept(info: TrackInfo): void {
    if (this.#info !== undefined) throw new Error(`the track ${this.name} has its properties already`);
    this.#info = info;
    this.#note();
  }

  /** Begins a group. @throws MediaError when its number was used before or is too old, the memory is used up, or the track has ended */
  begin(sequence: number): Group {
    if (!this.open) throw new MediaError('cancelled', `the track ${this.name} has ended`);
    if (this.#groups.has(sequence))
      throw new MediaError('duplicate', `the track ${this.name} has the group ${sequence} already`);
    if (sequence <= this.#dropped)
      throw new MediaError('expired', `group ${sequence} is older than those that are kept`);
    const group = new Group(sequence, this.cache.clock.now());
    this.#groups.set(sequence, group);
    // The group before may have to make room for this one.
    if (this.#newest === undefined || sequence > this.#newest.sequence) this.#newest = group;
    if (!this.cache.add(group, () => this.#expire(group))) {
      const error = new MediaError('too_large', 'the broadcast has no memory for a group');
      this.#remove(group, error);
      throw error;
    }
    for (const reader of this.#readers) reader.offer(group);
    this.#note();
    return group;
  }

  /**
   * Adds a frame to a group. Does nothing when the group was dropped meanwhile. A group that alone needs more memory than the broadcast may
   * have ends.
   */
  write(group: Group, timestamp: number, payload: Uint8Array): void {
    if (!group.open) return;
    const frame = makeFrame(group.frames.at(-1)?.timestamp ?? 0, timestamp, payload);
    if (this.cache.admit(costOf(frame))) group.add(frame);
    else this.#remove(group, new MediaError('too_large', `group ${group.sequence} needs more memory than there is`));
    this.#note();
  }

  /** Ends a group in order. */
  finish(group: Group): void {
    group.finish();
    this.#note();
  }

  /** No further group begins. */
  end(): void {
    if (!this.open) return;
    this.#ended = true;
    this.#wake();
  }

  fail(error: MediaError): void {
    if (!this.open) return;
    this.#error = error;
    for (const group of this.#groups.values()) group.abort(error);
    this.#wake();
  }

  /** Gives all memory back. */
  clear(): void {
    this.#newest = undefined;
    for (const group of this.#groups.values()) this.#remove(group, expired(group));
  }

  // --- readers ---

  /** Resolves with the properties. @throws MediaError when the publisher has no such track, or the signal aborts */
  async ready(signal?: AbortSignal): Promise<TrackInfo> {
    for (;;) {
      if (this.#info !== undefined) return this.#info;
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) throw new MediaError('not_found', `the track ${this.name} ended before it began`);
      if (signal?.aborted === true) throw new MediaError('cancelled', 'nobody waits for the track any more');
      await this.#changed.wait(signal);
    }
  }

  /** Returns a reader that begins with the group `from`, or with the newest one. It has to be closed. */
  read(from?: number): TrackReader {
    const first = from ?? this.#newest?.sequence ?? 0;
    const kept = this.groups.filter(({ sequence }) => sequence >= first);
    const reader = new TrackReader(this, first, kept, () => this.#forget(reader));
    this.#readers.add(reader);
    if (this.#readers.size === 1) this.onReaders(this, 1);
    return reader;
  }

  /** Keeps the track open, and what it has, while `use` runs. */
  async whileRead<Value>(use: () => Promise<Value>): Promise<Value> {
    const reader = this.read();
    try {
      return await use();
    } finally {
      reader.close();
    }
  }

  /** Resolves when anything changes: properties, a group, a frame, the end. Also when the signal aborts. */
  changed(signal?: AbortSignal): Promise<void> {
    return this.#changed.wait(signal);
  }

  #forget(reader: TrackReader): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) this.onReaders(this, 0);
  }

  #expire(group: Group): void {
    if (group === this.#newest) return;
    this.#dropped = Math.max(this.#dropped, group.sequence);
    this.#remove(group, expired(group));
  }

  #remove(group: Group, error: MediaError): void {
    this.#groups.delete(group.sequence);
    this.cache.remove(group, error);
    if (group === this.#newest) this.#newest = this.groups.at(-1);
  }

  #wake(): void {
    for (const reader of this.#readers) reader.wake();
    this.#note();
  }

  #note(): void {
    this.#changes += 1;
    this.#changed.notify();
  }
}

function expired({ sequence }: Group): MediaError {
  return new MediaError('expired', `group ${sequence} is no longer kept`);
}

import { Wakeup } from '@sheaf/web-client/wakeup';
import type { Clock } from './clock.js';
import { GroupCache, type CacheLimits } from './group_cache.js';
import { MediaError } from './media_error.js';
import type { MemoryShare } from './memory_budget.js';
import { Track } from './track.js';

/**
 * Where the tracks of a broadcast come from: a client that publishes, or the receiver of a channel. It gives the track its properties by
 * `accept`, and its groups by `begin`, `write` and `finish`. It ends the track by `end` or `fail`.
 */
export interface BroadcastSource {
  /** Somebody wants a track. */
  open(track: Track): void;
  /** Nobody wants the track any more. A source without this method delivers its tracks in any case. */
  close?(track: Track): void;
}

/** By what all workers of a node know a broadcast */
export interface Publication {
  /** Tells the broadcast from others of its name, whose groups have the same numbers and other frames */
  token: string;
  /** When it began, by a clock that all workers read */
  startedAt: number;
  /** The network of its publisher, whose clients share memory */
  network: string;
}

export interface BroadcastOptions {
  source: BroadcastSource;
  limits: CacheLimits;
  memory: MemoryShare;
  publication: Publication;
  /** Whether it was published at another worker, which brings it here */
  isCopy?: boolean;
  clock: Clock;
  /** Nodes that the broadcast came through, its publisher first */
  hops?: readonly bigint[];
}

/** Tracks of a broadcast that are open at one time */
const maxTracks = 64;

/** Milliseconds for which a track stays open after its last reader. Players that poll come back within. */
const lingerMs = 10_000;

/** A named set of tracks of one publisher. Tracks are opened at their source when somebody wants them. */
export class Broadcast {
  readonly hops: readonly bigint[];
  readonly #tracks = new Map<string, Track>();
  readonly #lingering = new Map<Track, () => void>();
  /** Tracks of a broadcast that has ended, while somebody reads them. Each has a function that revokes its end. */
  readonly #ending = new Map<Track, () => void>();
  readonly #cache: GroupCache;
  readonly #over = new Wakeup();
  #ended = false;

  constructor(
    readonly name: string,
    private readonly options: BroadcastOptions,
  ) {
    this.hops = options.hops ?? [];
    this.#cache = new GroupCache(options.limits, options.clock, options.memory);
  }

  get publication(): Publication {
    return this.options.publication;
  }
  get token(): string {
    return this.publication.token;
  }
  get isCopy(): boolean {
    return this.options.isCopy ?? false;
  }
  get ended(): boolean {
    return this.#ended;
  }
  /** Resolves when the broadcast has ended. */
  async whenEnded(): Promise<void> {
    while (!this.#ended) await this.#over.wait();
  }
  /** Bytes that the cache holds */
  get bytes(): number {
    return this.#cache.bytes;
  }

  /** Returns the track of this name, and opens it. @throws MediaError when too many are open, or the broadcast has ended */
  track(name: string): Track {
    const known = this.#tracks.get(name);
    if (known && known.error === undefined) {
      if (this.#lingering.has(known)) this.#linger(known);
      return known;
    }
    if (this.#ended) throw new MediaError('not_found', `the broadcast ${this.name} has ended`);
    if (known) this.#close(known);
    if (this.#tracks.size >= maxTracks)
      throw new MediaError('too_large', `the broadcast ${this.name} has ${maxTracks} tracks open`);
    const track = new Track(name, this.#cache, (changed, readers) => this.#onReaders(changed, readers));
    this.#tracks.set(name, track);
    this.#linger(track);
    this.options.source.open(track);
    return track;
  }

  /** Ends the broadcast and all of its tracks. Readers still get the frames that are there, as long as a group is kept. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const track of [...this.#tracks.values()]) {
      for (const group of track.groups)
        group.abort(new MediaError('cancelled', `the broadcast ${this.name} has ended`));
      track.end();
      this.#release(track);
      this.#clearLater(track);
    }
    this.#over.notify();
  }

  /** Gives the memory of an ended track back when its readers have left, and after a while although they have not. */
  #clearLater(track: Track): void {
    const { clock, limits } = this.options;
    if (track.isRead)
      this.#ending.set(
        track,
        clock.after(limits.history, () => this.#clear(track)),
      );
    else track.clear();
  }

  #clear(track: Track): void {
    this.#ending.get(track)?.();
    this.#ending.delete(track);
    track.clear();
  }

  #onReaders(track: Track, readers: number): void {
    this.#stopLingering(track);
    if (readers > 0) return;
    if (this.#ending.has(track)) this.#clear(track);
    else this.#linger(track);
  }

  #linger(track: Track): void {
    const { source, clock } = this.options;
    this.#stopLingering(track);
    if (source.close === undefined || this.#ended || this.#tracks.get(track.name) !== track) return;
    this.#lingering.set(
      track,
      clock.after(lingerMs, () => this.#close(track)),
    );
  }

  #stopLingering(track: Track): void {
    this.#lingering.get(track)?.();
    this.#lingering.delete(track);
  }

  #release(track: Track): void {
    this.#stopLingering(track);
    if (this.#tracks.get(track.name) === track) this.#tracks.delete(track.name);
    this.options.source.close?.(track);
  }

  #close(track: Track): void {
    this.#release(track);
    track.clear();
  }
}

import { randomBytes } from 'node:crypto';
import { Broadcast, type BroadcastSource } from '../model/broadcast.js';
import type { Broadcasts } from '../model/broadcasts.js';
import type { Clock } from '../model/clock.js';
import type { CacheLimits } from '../model/group_cache.js';
import { MediaError } from '../model/media_error.js';
import type { Track } from '../model/track.js';
import type { TrackReader } from '../model/track_reader.js';
import type { BroadcastList, GroupPiece } from './pieces.js';

/** All that a channel brings is of one publisher, its gateway. */
const channelPublisher = 'channel';
/** Milliseconds for a channel to bring a track that a viewer asks for */
const maxWaitMs = 10_000;

export interface CarriedBroadcastsOptions {
  broadcasts: Broadcasts;
  limits: CacheLimits;
  clock: Clock;
}

/** A broadcast that a channel brings */
interface Carried {
  broadcast: Broadcast;
  /** Keep the tracks of the channel, which come whether somebody reads them or not. */
  readers: Map<string, { track: Track; reader: TrackReader }>;
}

/** The broadcasts that a channel brings, by their ids there */
export class CarriedBroadcasts {
  readonly #byId = new Map<number, Carried>();

  constructor(private readonly options: CarriedBroadcastsOptions) {}

  /** Begins and ends broadcasts as the source lists them. */
  follow({ origin, broadcasts: list }: Pick<BroadcastList, 'origin' | 'broadcasts'>): void {
    for (const { id, name, hops } of list) {
      if (this.#byId.has(id)) continue;
      const { broadcasts, limits, clock } = this.options;
      const memory = broadcasts.memory.shareOf(channelPublisher);
      const broadcast = new Broadcast(name, {
        source: this.#source(),
        limits,
        memory,
        publication: {
          token: randomBytes(6).toString('hex'),
          startedAt: clock.now(),
          network: channelPublisher,
        },
        clock,
        hops: [...hops, origin],
      });
      try {
        broadcasts.add(broadcast);
      } catch (error) {
        if (error instanceof MediaError) continue;
        throw error;
      }
      this.#byId.set(id, { broadcast, readers: new Map() });
    }
    const listed = new Set(list.map(({ id }) => id));
    for (const [id, carried] of this.#byId) if (!listed.has(id)) this.#remove(id, carried);
  }

  /** Returns the track of a group. Undefined: its broadcast is over, or has no room for it. */
  track({ broadcast: id, track: name, info }: Pick<GroupPiece, 'broadcast' | 'track' | 'info'>): Track | undefined {
    const carried = this.#byId.get(id);
    if (carried === undefined || carried.broadcast.ended) return undefined;
    const known = carried.readers.get(name);
    if (known?.track.open) return known.track;
    known?.reader.close();
    try {
      const track = carried.broadcast.track(name);
      if (track.info === undefined) track.accept(info);
      carried.readers.set(name, { track, reader: track.read() });
      return track;
    } catch (error) {
      if (error instanceof MediaError) return undefined;
      throw error;
    }
  }

  /** Ends all broadcasts. */
  clear(): void {
    for (const [id, carried] of this.#byId) this.#remove(id, carried);
  }

  #remove(id: number, { broadcast, readers }: Carried): void {
    this.#byId.delete(id);
    this.options.broadcasts.remove(broadcast);
    for (const { reader } of readers.values()) reader.close();
  }

  /** Tracks come by themselves. Those that do not come within a while do not exist. */
  #source(): BroadcastSource {
    const waiting = new Map<Track, () => void>();
    return {
      open: (track) => {
        const missing = new MediaError('not_found', `the channel has no track ${track.name}`);
        const fail = (): void => {
          waiting.delete(track);
          if (track.info === undefined) track.fail(missing);
        };
        waiting.set(track, this.options.clock.after(maxWaitMs, fail));
      },
      close: (track) => {
        waiting.get(track)?.();
        waiting.delete(track);
      },
    };
  }
}

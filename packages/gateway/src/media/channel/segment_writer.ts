import { frameHeader, type ChannelGroupWriter, type ChannelSource } from '@sheaf/native';
import type { Clock } from '../model/clock.js';
import type { Frame } from '../model/frame.js';
import type { Group } from '../model/group.js';
import type { Track, TrackInfo } from '../model/track.js';
import { encodeEnd, encodeFrameHead, encodeGroup } from './pieces.js';

/** Least milliseconds of a segment, when groups that a receiver could begin with come faster */
const minSegmentMs = 1_000;

/** Milliseconds after which a segment ends, at the next key frame or not */
const maxSegmentMs = 10_000;

/** Bytes of a segment. The source keeps the newest one for receivers that come late, and receivers take 32 MiB of it. */
const maxSegmentBytes = 6 * 1024 * 1024;

/** Bytes of a group that a new segment repeats, and of all that it repeats, for receivers that begin there */
const maxRepeated = 64 * 1024;
const maxRepeatedTogether = 1024 * 1024;

/** A group of media on its way to the channel */
export interface Passage {
  /** Id of its broadcast */
  broadcast: number;
  track: Track;
  info: TrackInfo;
  group: Group;
  /** Frames that were written */
  written: number;
}

interface Segment {
  out: ChannelGroupWriter;
  startedAt: number;
  bytes: number;
  /** The number of each group that is named in it */
  numbers: Map<Passage, number>;
  named: number;
}

export interface SegmentWriterOptions {
  source: Pick<ChannelSource, 'openGroup'>;
  clock: Clock;
  /** Returns the list of broadcasts. */
  list: () => Buffer;
}

/**
 * Writes groups of media to a channel, one segment after the other. All methods write one after the other, at the channel's rate.
 * They reject once the channel is closed.
 */
export class SegmentWriter {
  /** Groups that have begun and not ended */
  readonly #open = new Set<Passage>();
  /** The newest group of each track that ended in order, for receivers that begin with a later segment */
  readonly #newest = new Map<Track, Passage>();
  #segment: Segment | undefined;
  #turn: Promise<void> = Promise.resolve();
  #revokeTimer: () => void = () => undefined;

  constructor(private readonly options: SegmentWriterOptions) {}

  /** Tells receivers which broadcasts there are. */
  announce(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#segment) await this.#write(this.#segment, this.options.list());
      else await this.#begin();
    });
  }

  /** Names a group whose frames follow. When `leads`, receivers that come late may begin with it. */
  open(passage: Passage, leads: boolean): Promise<void> {
    return this.#inTurn(async () => {
      this.#open.add(passage);
      this.#newest.delete(passage.track);
      const { startedAt = -Infinity } = this.#segment ?? {};
      const begins = leads && this.options.clock.now() >= startedAt + minSegmentMs;
      const segment = begins ? await this.#begin() : await this.#current();
      // A new segment has named all groups that are open.
      if (!segment.numbers.has(passage)) await this.#name(segment, passage, 0);
    });
  }

  /** Writes the next frame of a group. */
  frame(passage: Passage, frame: Frame): Promise<void> {
    return this.#inTurn(async () => {
      const segment = await this.#current(frame.record.length);
      await this.#writeFrame(segment, passage, frame);
      passage.written += 1;
    });
  }

  /** Says that no frames of a group follow. */
  end(passage: Passage, complete: boolean): Promise<void> {
    return this.#inTurn(async () => {
      this.#open.delete(passage);
      if (complete && passage.group.cost <= maxRepeated) this.#newest.set(passage.track, passage);
      if (this.#segment) await this.#writeEnd(this.#segment, passage, complete);
    });
  }

  /** Repeats nothing of a track any more. */
  forget(track: Track): void {
    this.#newest.delete(track);
  }

  close(): void {
    this.#revokeTimer();
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Returns the segment that takes so many bytes. */
  async #current(bytes = 0): Promise<Segment> {
    if (this.#segment && this.#segment.bytes + bytes <= maxSegmentBytes) return this.#segment;
    return this.#begin();
  }

  /** Ends the segment, and begins one that can be read alone. */
  async #begin(): Promise<Segment> {
    const { source, clock, list } = this.options;
    const before = this.#segment;
    this.#segment = undefined;
    await before?.out.end();
    const segment = { out: source.openGroup(), startedAt: clock.now(), bytes: 0, numbers: new Map(), named: 0 };
    this.#segment = segment;
    this.#revokeTimer();
    this.#revokeTimer = clock.after(maxSegmentMs, () => {
      this.#inTurn(async () => void (await this.#begin())).catch(() => undefined);
    });
    await this.#write(segment, list());
    await this.#repeat(segment);
    return segment;
  }

  /** Names what is open, and writes again what is small. */
  async #repeat(segment: Segment): Promise<void> {
    let room = maxRepeatedTogether;
    const fits = ({ group }: Passage): boolean => {
      if (group.cost > Math.min(maxRepeated, room)) return false;
      room -= group.cost;
      return true;
    };
    for (const passage of this.#newest.values()) {
      // Frames that are no longer kept cannot be repeated.
      if (!passage.group.complete || !fits(passage)) continue;
      await this.#name(segment, passage, 0);
      for (const frame of passage.group.frames) await this.#writeFrame(segment, passage, frame);
      await this.#writeEnd(segment, passage, true);
    }
    for (const passage of this.#open) {
      const frames = passage.group.frames.slice(0, passage.written);
      const from = frames.length === passage.written && fits(passage) ? 0 : passage.written;
      await this.#name(segment, passage, from);
      for (const frame of frames.slice(from)) await this.#writeFrame(segment, passage, frame);
    }
  }

  async #name(segment: Segment, passage: Passage, from: number): Promise<void> {
    const { broadcast, track, info, group } = passage;
    segment.numbers.set(passage, segment.named);
    segment.named += 1;
    await this.#write(segment, encodeGroup({ broadcast, track: track.name, info, sequence: group.sequence, from }));
  }

  async #writeFrame(segment: Segment, passage: Passage, { record }: Frame): Promise<void> {
    const group = segment.numbers.get(passage);
    if (group === undefined) throw new Error(`group ${passage.group.sequence} is not open`);
    await this.#write(segment, encodeFrameHead(group), record);
  }

  async #writeEnd(segment: Segment, passage: Passage, complete: boolean): Promise<void> {
    const group = segment.numbers.get(passage);
    // A segment that could not be begun has no name for it.
    if (group === undefined) return;
    segment.numbers.delete(passage);
    await this.#write(segment, encodeEnd({ group, complete }));
  }

  /** Writes a piece, which may consist of two parts. */
  async #write(segment: Segment, first: Buffer, rest?: Buffer): Promise<void> {
    const length = first.length + (rest?.length ?? 0);
    segment.bytes += length;
    await segment.out.write(Buffer.concat([frameHeader(length), first]));
    if (rest) await segment.out.write(rest);
  }
}

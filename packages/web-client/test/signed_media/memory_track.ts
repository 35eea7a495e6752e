import type { BroadcastSource, GroupSource, MediaFrame, ReadTime, TrackSource } from '../../src/signed_media/tracks.js';

/** A time of a track, as a library for moq-lite has them */
export class Time implements ReadTime {
  constructor(
    readonly value: number,
    readonly scale = 1_000,
  ) {}
  as(unitsPerSecond: number): number {
    return (this.value * unitsPerSecond) / this.scale;
  }
}

export type Frame = MediaFrame<Time>;

/** A queue with an end, which one reader reads */
class Queue<Item> {
  readonly #items: Item[] = [];
  #over = false;
  #error: Error | undefined;
  #wake: () => void = () => undefined;

  add(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }
  end(error?: Error): void {
    this.#over = true;
    this.#error ??= error;
    this.#wake();
  }
  get isOver(): boolean {
    return this.#over;
  }
  /** Items that nobody has read */
  get length(): number {
    return this.#items.length;
  }
  async next(): Promise<Item | undefined> {
    while (this.#items.length === 0 && !this.#over) await new Promise<void>((resolve) => (this.#wake = resolve));
    const item = this.#items.shift();
    if (item === undefined && this.#error) throw this.#error;
    return item;
  }
}

/** A group in memory, written on one side and read on the other */
export class MemoryGroup implements GroupSource {
  readonly #frames = new Queue<Frame>();
  constructor(readonly sequence: number) {}
  writeFrame(frame: Frame): void {
    this.#frames.add(frame);
  }
  readFrame(): Promise<Frame | undefined> {
    return this.#frames.next();
  }
  close(abort?: Error): void {
    this.#frames.end(abort);
  }
  get isClosed(): boolean {
    return this.#frames.isOver;
  }
  get unread(): number {
    return this.#frames.length;
  }
}

export class MemoryTrack implements TrackSource {
  readonly #groups = new Queue<MemoryGroup>();
  #sequence = 0;
  constructor(
    readonly name: string,
    readonly timescale = 1_000,
  ) {}
  info(): Promise<{ timescale: number }> {
    return Promise.resolve({ timescale: this.timescale });
  }
  appendGroup(): MemoryGroup {
    const group = this.insertGroup(this.#sequence);
    this.#sequence += 1;
    return group;
  }
  /** Adds a group of any number, as an edge may. */
  insertGroup(sequence: number): MemoryGroup {
    const group = new MemoryGroup(sequence);
    this.#groups.add(group);
    return group;
  }
  recvGroup(): Promise<MemoryGroup | undefined> {
    return this.#groups.next();
  }
  close(abort?: Error): void {
    this.#groups.end(abort);
  }
  get isClosed(): boolean {
    return this.#groups.isOver;
  }
}

/** Tracks in memory as a viewer subscribes to them. A track that is missing is refused. */
export function sourceOf(...tracks: readonly MemoryTrack[]): BroadcastSource {
  return {
    subscribe: (name) => {
      const track = tracks.find((each) => each.name === name);
      if (track === undefined) throw new Error(`there is no track ${name}`);
      return track;
    },
  };
}

/** Reads all frames of a group. */
export async function framesOf(group: MemoryGroup): Promise<Frame[]> {
  const frames: Frame[] = [];
  for (let frame = await group.readFrame(); frame; frame = await group.readFrame()) frames.push(frame);
  return frames;
}

import { Wakeup } from '@sheaf/web-client/wakeup';
import type { Frame } from './frame.js';
import type { MediaError } from './media_error.js';

/** Bytes that a group and a frame count beside their records, so that empty ones are bounded, too */
const groupCost = 1_024;
const frameCost = 256;

/** Returns the memory that a frame costs in the cache. */
export function costOf(frame: Frame): number {
  return frame.record.length + frameCost;
}

/** Frames that belong together: the first is a key frame. Frames are added at its end, and any number of readers follow. */
export class Group {
  readonly #changed = new Wakeup();
  #frames: Frame[] = [];
  #complete = false;
  #error: MediaError | undefined;
  #cost = groupCost;

  constructor(
    readonly sequence: number,
    /** When the group began, in milliseconds of the cache's clock */
    readonly startedAt: number,
  ) {}

  /** Frames so far */
  get frames(): readonly Frame[] {
    return this.#frames;
  }
  /** Memory that it costs in the cache, in bytes */
  get cost(): number {
    return this.#cost;
  }
  /** Whether all frames are there */
  get complete(): boolean {
    return this.#complete;
  }
  /** Why there are no more frames, when the group ended early or the cache dropped it */
  get error(): MediaError | undefined {
    return this.#error;
  }
  /** Whether more frames may come */
  get open(): boolean {
    return !this.#complete && this.#error === undefined;
  }

  add(frame: Frame): void {
    if (!this.open) throw new Error(`group ${this.sequence} has ended`);
    this.#frames.push(frame);
    this.#cost += costOf(frame);
    this.#changed.notify();
  }

  finish(): void {
    if (!this.open) return;
    this.#complete = true;
    this.#changed.notify();
  }

  /** Ends the group early. Its readers get the error behind the frames that are there. */
  abort(error: MediaError): void {
    if (!this.open) return;
    this.#error = error;
    this.#changed.notify();
  }

  /** Gives the memory back. Readers that have not read to the end get the error. */
  drop(error: MediaError): void {
    this.#frames = [];
    this.#complete = false;
    this.#error = error;
    this.#changed.notify();
  }

  /** Returns the frame with this index, and waits for it. Undefined: the group has ended before, or the signal aborts. @throws MediaError */
  async frame(index: number, signal?: AbortSignal): Promise<Frame | undefined> {
    while (signal?.aborted !== true) {
      const frame = this.#frames[index];
      if (frame !== undefined) return frame;
      if (this.#error !== undefined) throw this.#error;
      if (this.#complete) return undefined;
      await this.#changed.wait(signal);
    }
    return undefined;
  }
}

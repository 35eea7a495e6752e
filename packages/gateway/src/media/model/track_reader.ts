import { Wakeup } from '@sheaf/web-client/wakeup';
import type { Group } from './group.js';
import type { MediaError } from './media_error.js';

/** Groups that wait for a reader. Older ones are skipped. */
const maxWaiting = 64;

/** What a reader has to know of its track */
interface TrackEnd {
  readonly ended: boolean;
  readonly error: MediaError | undefined;
}

/** The groups of a track, in the order in which they began. Groups that were dropped before they were read are skipped. */
export class TrackReader {
  readonly #changed = new Wakeup();
  #waiting: Group[];
  #closed = false;
  #skipped = 0;

  constructor(
    private readonly track: TrackEnd,
    private readonly first: number,
    kept: readonly Group[],
    private readonly onClose: () => void,
  ) {
    this.#waiting = [...kept];
  }

  /** Groups that were skipped because this reader was too slow */
  get skipped(): number {
    return this.#skipped;
  }

  /** Called by the track when a group begins. */
  offer(group: Group): void {
    if (group.sequence < this.first) return;
    this.#waiting.push(group);
    if (this.#waiting.length > maxWaiting) {
      this.#waiting.shift();
      this.#skipped += 1;
    }
    this.#changed.notify();
  }

  /** Called by the track when it ends. */
  wake(): void {
    this.#changed.notify();
  }

  /** Returns the next group, and waits for it. Undefined: the track has ended, or this reader was closed. @throws MediaError */
  async next(): Promise<Group | undefined> {
    for (;;) {
      if (this.#closed) return undefined;
      const group = this.#waiting.shift();
      if (group?.error?.kind === 'expired') {
        this.#skipped += 1;
        continue;
      }
      if (group !== undefined) return group;
      if (this.track.error !== undefined) throw this.track.error;
      if (this.track.ended) return undefined;
      await this.#changed.wait();
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting = [];
    this.onClose();
    this.#changed.notify();
  }
}

import type { ReceivedGroup } from '@sheaf/native';
import { Wakeup } from '@sheaf/web-client/wakeup';

/** From the number of a group of a channel to that of the next one: they are ids of streams (RFC 9000 §2.1). */
const step = 4;

/** Segments that wait. A receiver tells of groups that are lost, so a number that is missing for longer never comes. */
const maxWaiting = 16;

/** The segments of a channel in their order, also when a later one was heard first. */
export class SegmentQueue {
  readonly #changed = new Wakeup();
  #waiting: ReceivedGroup[] = [];
  #next: number | undefined;
  #over = false;

  push(segment: ReceivedGroup): void {
    this.#waiting.push(segment);
    this.#waiting.sort((left, right) => left.id - right.id);
    this.#changed.notify();
  }

  /** Nothing more comes. */
  end(): void {
    this.#over = true;
    this.#changed.notify();
  }

  /** Returns the next segment, and waits for it. Undefined: the channel is over, and all segments were returned. */
  async next(): Promise<ReceivedGroup | undefined> {
    for (;;) {
      const [first] = this.#waiting;
      if (first && (this.#over || this.#waiting.length > maxWaiting || first.id <= (this.#next ?? first.id))) {
        this.#waiting.shift();
        this.#next = Math.max(this.#next ?? 0, first.id + step);
        return first;
      }
      if (this.#over) return undefined;
      await this.#changed.wait();
    }
  }
}

import { readPart, type Part } from '@sheaf/gateway/publication';
import type { ReceivedGroup, WatchedChannel } from '@sheaf/native';

/** Parts that may wait for one before them */
const maxWaiting = 64;

/** Milliseconds between looks for packets that will not come any more */
const lookMs = 1_000;

/** What is needed of a channel */
type Groups = Pick<WatchedChannel, 'on' | 'status'>;

/**
 * The parts of the first publication of a channel that is there from its start. Groups arrive in any order, since copies of lost
 * packets come late.
 */
export class OrderedParts {
  #id: string | undefined;
  #waiting: Part[] = [];
  /** Groups whose first frame is not here yet */
  #unknown = 0;
  #over = false;
  #failure: unknown;
  #wake: () => void = () => undefined;

  constructor(private readonly channel: Groups) {
    channel.on('group', (group) => void this.#take(group));
    channel.on('close', () => {
      this.#over = true;
      this.#wake();
    });
  }

  /** Resolves with the part at this offset. Undefined: the channel has ended before. @throws what the part fails with */
  async next(offset: number): Promise<Part | undefined> {
    const expired = this.#expired;
    for (;;) {
      const part = this.#waiting.find(({ head }) => head.offset === offset);
      if (part) {
        this.#id ??= part.head.id;
        this.#waiting = this.#waiting.filter((other) => other !== part && other.head.id === this.#id);
        return part;
      }
      if (this.#failure !== undefined) throw this.#failure as Error;
      if (this.#over && this.#unknown === 0) return undefined;
      // A group of which nothing came has no end of its own.
      const isGap = this.#id !== undefined && this.#waiting.length > 0;
      if (isGap && this.#expired > expired) throw new RangeError('a part of it did not come in time');
      await this.#change(isGap);
    }
  }

  get #expired(): number {
    return this.channel.status()?.expired ?? 0;
  }

  async #take(group: ReceivedGroup): Promise<void> {
    this.#unknown += 1;
    try {
      this.#keep(await readPart(group));
    } catch (error) {
      // Before a publication has begun here, its groups may fail: the next one is waited for.
      if (this.#id !== undefined || error instanceof RangeError) this.#failure ??= error;
    }
    this.#unknown -= 1;
    this.#wake();
  }

  #keep(part: Part): void {
    if (this.#id !== undefined && part.head.id !== this.#id) return;
    this.#waiting.push(part);
    if (this.#waiting.length <= maxWaiting) return;
    if (this.#id === undefined) this.#waiting.shift();
    else this.#failure ??= new RangeError(`more than ${maxWaiting} parts wait for one before them`);
  }

  async #change(isGap: boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (isGap) timer = setTimeout(resolve, lookMs);
    });
    clearTimeout(timer);
  }
}

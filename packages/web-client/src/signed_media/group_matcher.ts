import { MAXIMUM_FLIGHT, type SignedFrame, type Statement } from './statement.js';

/** Frames of a group that wait for their signature, and their bytes. The frame that exceeds this pushes the oldest out. */
const maximumWaiting = 256;
const maximumWaitingBytes = 8 * 1024 * 1024;

/** Signed frames that a group waits for */
const maximumKnown = 512;

/** How many frames of a track were of each kind */
export interface FrameCounts {
  /** Frames that the publisher signed */
  verified: number;
  /** Frames in whose place the publisher signed another one, or none */
  forged: number;
  /** Frames about whose place the publisher said nothing in time */
  unsigned: number;
  /** Frames that the publisher signed and that did not come, or not in their order */
  missing: number;
  /** Statements that are malformed, of somebody else, or about another group */
  refusedStatements: number;
}

/** A frame that came */
export interface ReceivedFrame extends SignedFrame {
  readonly payload: Uint8Array;
}

interface WaitingFrame {
  readonly frame: ReceivedFrame;
  readonly key: string;
  /** How many frames of the group came before */
  readonly position: number;
}

/**
 * Compares the frames that come of one group with those that its publisher signed. Frames pass in the order in which they were signed, each
 * at most once. What comes between them, twice, late, or from elsewhere does not pass.
 */
export class GroupMatcher {
  /** Frames that were signed, and have not come */
  #known: { readonly index: number; readonly key: string }[] = [];
  #waiting: WaitingFrame[] = [];
  #waitingBytes = 0;
  #arrived = 0;
  /** Behind the last frame that passed */
  #next = 0;
  /** Behind the last frame that was signed */
  #covered = 0;
  /** Number of its frames, when that is signed */
  #length: number | undefined;
  #proven = false;
  #hasGap = false;

  constructor(
    private readonly counts: FrameCounts,
    private readonly pass: (frame: ReceivedFrame, index: number) => void,
  ) {}

  /** Whether the publisher signed anything of this group */
  get isProven(): boolean {
    return this.#proven;
  }

  /** Whether a frame has passed */
  get hasPassed(): boolean {
    return this.#next > 0;
  }

  /** Whether there is room for another statement */
  get hasRoom(): boolean {
    return this.#known.length + MAXIMUM_FLIGHT <= maximumKnown;
  }

  /** Whether the publisher has signed the end of the group */
  get isEndSigned(): boolean {
    return this.#length !== undefined;
  }

  /** Whether all frames have passed, up to the end that is signed */
  get isWhole(): boolean {
    return this.#next === this.#length && !this.#hasGap;
  }

  addFrame(frame: ReceivedFrame): void {
    this.#waiting.push({ frame, key: keyOf(frame), position: this.#arrived });
    this.#arrived += 1;
    this.#waitingBytes += frame.payload.length;
    this.#match(this.#waiting.length - 1);
    while (this.#waiting.length > maximumWaiting || this.#waitingBytes > maximumWaitingBytes) this.#dropOldest();
  }

  /** Takes a statement about this group. Returns false when it is about frames that are covered already, or behind the end. */
  addStatement({ first, frames, last }: Statement): boolean {
    if (first < this.#covered || this.#length !== undefined) return false;
    this.#proven = true;
    this.#known.push(...frames.map((frame, offset) => ({ index: first + offset, key: keyOf(frame) })));
    this.#covered = first + frames.length;
    if (last) this.#length = this.#covered;
    this.#match(0);
    return true;
  }

  /** Counts what is left when neither frames nor statements come any more. */
  end(): void {
    while (this.#waiting.length > 0) this.#dropOldest();
    this.counts.missing += this.#covered - this.#next;
    this.#known = [];
    this.#next = this.#covered;
  }

  /** Passes frames that were signed, from this place of those that wait. */
  #match(from: number): void {
    for (let place = from; place < this.#waiting.length; place += 1) {
      const { key, frame } = this.#waiting[place]!;
      const match = this.#known.findIndex((known) => known.key === key);
      if (match < 0) continue;
      // What came before this frame and was not signed before it has lost its place.
      this.counts.forged += place;
      for (const { frame: gone } of this.#waiting.splice(0, place + 1)) this.#waitingBytes -= gone.payload.length;
      const { index } = this.#known[match]!;
      this.#known.splice(0, match + 1);
      this.counts.missing += index - this.#next;
      this.#hasGap ||= index > this.#next;
      this.#next = index + 1;
      this.counts.verified += 1;
      this.pass(frame, index);
      place = -1;
    }
  }

  #dropOldest(): void {
    const { frame, position } = this.#waiting.shift()!;
    this.#waitingBytes -= frame.payload.length;
    if (this.#length !== undefined || position < this.#covered) this.counts.forged += 1;
    else this.counts.unsigned += 1;
  }
}

function keyOf({ timestamp, hash }: SignedFrame): string {
  return `${timestamp} ${String.fromCharCode(...hash)}`;
}

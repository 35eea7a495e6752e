import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of buffers after which those that nobody has any more are given back, and how long that rests then, in milliseconds. */
const mostBytes = 4 * 2 ** 20;
const restMs = 10;

/**
 * Gives buffers back that were used once. V8 itself waits until there are 32 MB of them, and a process never gets smaller
 * again: a client that takes nothing would cost that much by what it has the gateway read for it. Where much is sent, V8 looks
 * after it nearly as often.
 */
export class YoungMemory {
  readonly #collect: () => void;
  #bytes = 0;
  #collectedAt = -Infinity;

  /** `collect` is called when it is time. */
  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /** So many bytes were allocated for a buffer that is used once, at `now` in milliseconds. */
  allocated(bytes: number, now = performance.now()): void {
    this.#bytes += bytes;
    if (this.#bytes < mostBytes || now - this.#collectedAt < restMs) return;
    this.#bytes = 0;
    this.#collectedAt = now;
    this.#collect();
  }
}

/** Frees what became garbage soon after it was made. Takes about a millisecond. */
export const collectYoung: () => void = youngCollector();

function youngCollector(): () => void {
  // V8 shows its collector to contexts that are made while it is asked to.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  setFlagsFromString('--no-expose-gc');
  return () => collect({ type: 'minor' });
}

/** Of this process. */
export const youngMemory = new YoungMemory(collectYoung);

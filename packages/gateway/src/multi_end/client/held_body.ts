type Chunk = Uint8Array | string;

/** In bytes: enough for what is sent before a backend can say that it takes no more requests, as long as its distance is small. */
const maxHeld = 64 * 1024;

/**
 * A body that streams and can still be read from its start, as long as little of it was read. For one reader at a time:
 * who begins takes it over from the one before.
 */
export class HeldBody implements AsyncIterable<Chunk> {
  readonly #source: AsyncIterator<Chunk>;
  /** From the start; from the next one that nobody has read, once it is released. */
  readonly #chunks: Chunk[] = [];
  #bytes = 0;
  #ended = false;
  /** Why nothing more comes: a body that is not complete must not look so to the next reader. */
  #failure: { error: unknown } | undefined;
  #released = false;
  /** Counts readers. */
  #reader = 0;
  #reading = false;
  #pulling: Promise<void> | undefined;

  constructor(source: AsyncIterable<Chunk>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** It can be read from its start. */
  get whole(): boolean {
    return !this.#released;
  }

  /** Nobody needs its start again. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (!this.#reading) this.#leave();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk> {
    const reader = (this.#reader += 1);
    this.#reading = true;
    let next = 0;
    try {
      while (reader === this.#reader) {
        const chunk = this.#chunks[next];
        if (chunk === undefined) {
          if (this.#failure) throw this.#failure.error;
          if (this.#ended) return;
          await (this.#pulling ??= this.#pull());
          continue;
        }
        next += 1;
        if (this.#released) {
          this.#chunks.splice(0, next);
          next = 0;
        }
        yield chunk;
      }
    } finally {
      if (reader === this.#reader) this.#stop();
    }
  }

  async #pull(): Promise<void> {
    try {
      const { value, done } = (await this.#source.next()) as IteratorResult<Chunk, undefined>;
      if (done) {
        this.#ended = true;
        return;
      }
      this.#chunks.push(value);
      this.#bytes += value.length;
      if (this.#bytes > maxHeld) this.#released = true;
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#pulling = undefined;
    }
  }

  #stop(): void {
    this.#reading = false;
    if (this.#released) this.#leave();
  }

  /** Whoever brings the body learns that nobody reads on. */
  #leave(): void {
    if (!this.#ended && !this.#failure) void this.#source.return?.()?.catch(() => undefined);
    this.#ended = true;
  }
}

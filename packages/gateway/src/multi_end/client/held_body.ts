type Chunk = Uint8Array | string;

/** Maximum in bytes: enough for what is sent before a nearby backend can reject the request */
const maxHeld = 64 * 1024;

/**
 * A streamed body that can be read again from its start, while little of it was read. It has one reader at a time: a
 * new reader replaces the earlier one.
 */
export class HeldBody implements AsyncIterable<Chunk> {
  readonly #source: AsyncIterator<Chunk>;
  /** Chunks from the start; after the release, only chunks that nobody has read */
  readonly #chunks: Chunk[] = [];
  #bytes = 0;
  #ended = false;
  /** Error of the source. The next reader must not mistake an incomplete body for a complete one. */
  #failure: { error: unknown } | undefined;
  #released = false;
  /** Number of the latest reader */
  #reader = 0;
  #reading = false;
  #pulling: Promise<void> | undefined;

  constructor(source: AsyncIterable<Chunk>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Whether the body can be read from its start */
  get whole(): boolean {
    return !this.#released;
  }

  /** Drops the start of the body, which nobody needs again. */
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

  /** Tells the source that nobody reads on. */
  #leave(): void {
    if (!this.#ended && !this.#failure) void this.#source.return?.()?.catch(() => undefined);
    this.#ended = true;
  }
}

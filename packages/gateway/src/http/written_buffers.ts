/** Maximum of bytes in free Buffers, for all responses together */
const keptBytes = 4 * 2 ** 20;
/** Sizes that `room` returns and files are read in. Buffers of other sizes are too rare to keep. */
const keptSizes = [16 * 1024, 64 * 1024];

/**
 * Buffers for bodies that Node writes to a socket, used again once Node has sent them. V8 lets 32 MB of Buffers wait
 * for its garbage collector, and many slow clients together held as much.
 */
export class WrittenBuffers {
  readonly #free = new Map<number, Buffer[]>(keptSizes.map((size) => [size, []]));
  readonly #taken = new WeakSet<Uint8Array>();
  #kept = 0;

  /** Returns a Buffer, which holds arbitrary bytes. */
  take(bytes: number): Buffer {
    const free = this.#free.get(bytes);
    if (!free) return Buffer.allocUnsafeSlow(bytes);
    const kept = free.pop();
    if (kept) this.#kept -= bytes;
    const buffer = kept ?? Buffer.allocUnsafeSlow(bytes);
    this.#taken.add(buffer);
    return buffer;
  }

  isTaken(chunk: unknown): chunk is Buffer {
    return chunk instanceof Uint8Array && this.#taken.has(chunk);
  }

  /** Returns a Buffer that nobody reads any more. Only the first call for each taken Buffer counts. */
  giveBack(buffer: Buffer): void {
    if (!this.#taken.delete(buffer)) return;
    if (this.#kept + buffer.length > keptBytes) return;
    this.#kept += buffer.length;
    this.#free.get(buffer.length)?.push(buffer);
  }
}

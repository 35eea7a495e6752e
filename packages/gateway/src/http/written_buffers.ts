/** Free Buffers that are kept, of all responses together. */
const keptBytes = 4 * 2 ** 20;
/** What `room` says and a file is read by; of other sizes there are too few to keep. */
const keptSizes = [16 * 1024, 64 * 1024];

/**
 * Buffers for bodies that Node writes to a socket, which serve again once it has. V8 lets 32 MB of Buffers wait for its garbage
 * collector, and many slow clients together held as much.
 */
export class WrittenBuffers {
  readonly #free = new Map<number, Buffer[]>(keptSizes.map((size) => [size, []]));
  readonly #taken = new WeakSet<Uint8Array>();
  #kept = 0;

  /** With whatever was in it. */
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

  /** Nobody reads it any more. Only the first call for a Buffer that was taken counts. */
  giveBack(buffer: Buffer): void {
    if (!this.#taken.delete(buffer)) return;
    if (this.#kept + buffer.length > keptBytes) return;
    this.#kept += buffer.length;
    this.#free.get(buffer.length)?.push(buffer);
  }
}

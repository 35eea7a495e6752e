/** Datagrams of a session that arrived in one turn, one behind the other in one buffer. */
export class DatagramBatch implements Iterable<Uint8Array> {
  constructor(
    readonly bytes: Uint8Array,
    /** Size of each datagram, in bytes. */
    readonly sizes: Uint32Array,
  ) {}

  /** Yields each datagram in memory of its own, so that keeping one does not keep all. */
  *[Symbol.iterator](): Iterator<Uint8Array> {
    let offset = 0;
    for (const size of this.sizes) {
      yield Uint8Array.prototype.slice.call(this.bytes, offset, offset + size);
      offset += size;
    }
  }
}

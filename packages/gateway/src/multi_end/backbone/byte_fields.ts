/** Another node sent a malformed message: the connection ends. */
export class BackboneViolation extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BackboneViolation';
  }
}

/** Writes fields. Integers are in network byte order; bytes and texts follow their length in 16 bits. */
export class FieldWriter {
  readonly #parts: Buffer[] = [];

  integer(value: number, bytes: 1 | 2 | 4 | 6): this {
    const part = Buffer.alloc(bytes);
    part.writeUIntBE(value, 0, bytes);
    this.#parts.push(part);
    return this;
  }

  fixed(value: Uint8Array): this {
    this.#parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    return this;
  }

  bytes(value: Uint8Array): this {
    return this.integer(value.length, 2).fixed(value);
  }

  text(value: string): this {
    return this.bytes(Buffer.from(value));
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Reads fields. @throws BackboneViolation at the first field that is incomplete or out of range */
export class FieldReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  integer(bytes: 1 | 2 | 4 | 6): number {
    return this.fixed(bytes).readUIntBE(0, bytes);
  }

  fixed(length: number): Buffer {
    if (length > this.remaining) throw new BackboneViolation('a message is shorter than its fields');
    const start = this.#offset;
    this.#offset += length;
    return this.#bytes.subarray(start, this.#offset);
  }

  bytes(longest: number): Buffer {
    const length = this.integer(2);
    if (length > longest) throw new BackboneViolation(`a field of ${length} bytes is longer than ${longest}`);
    return this.fixed(length);
  }

  text(longest: number): string {
    const bytes = this.bytes(longest);
    const text = bytes.toString('utf8');
    if (/[\u0000-\u001f\u007f]/.test(text) || !Buffer.from(text).equals(bytes))
      throw new BackboneViolation('a text is not made of printable characters');
    return text;
  }

  /** Checks that nothing follows the last field. */
  end(): void {
    if (this.remaining > 0) throw new BackboneViolation('a message is longer than its fields');
  }
}

import { readVarint } from '@sheaf/web-client/protocol';
import { MediaError } from '../model/media_error.js';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads the fields of one message. @throws MediaError `protocol_violation` */
export class Cursor {
  #offset = 0;

  constructor(private readonly bytes: Uint8Array) {}

  varint(): number {
    const read = malformedUnless(() => readVarint(this.bytes, this.#offset));
    if (read === undefined) throw violation('a message ends within an integer');
    this.#offset = read.end;
    return read.value;
  }

  /** Reads an integer of up to 62 bits. */
  bigVarint(): bigint {
    const length = 1 << ((this.bytes[this.#offset] ?? 0) >> 6);
    const bytes = this.raw(length);
    let value = BigInt(bytes[0]! & 0x3f);
    for (const byte of bytes.subarray(1)) value = (value << 8n) | BigInt(byte);
    return value;
  }

  byte(): number {
    return this.raw(1)[0]!;
  }

  flag(): boolean {
    const byte = this.byte();
    if (byte > 1) throw violation(`${byte} is no flag`);
    return byte === 1;
  }

  /** Reads an integer that is one above a value, or 0 for none. */
  optional(): number | undefined {
    const value = this.varint();
    return value === 0 ? undefined : value - 1;
  }

  text(maxBytes: number): string {
    const length = this.varint();
    if (length > maxBytes) throw violation(`a text has ${length} bytes, ${maxBytes} are allowed`);
    const bytes = this.raw(length);
    return malformedUnless(() => decoder.decode(bytes));
  }

  raw(length: number): Uint8Array {
    const end = this.#offset + length;
    if (end > this.bytes.length) throw violation('a message ends within a field');
    const bytes = this.bytes.subarray(this.#offset, end);
    this.#offset = end;
    return bytes;
  }

  end(): void {
    if (this.#offset !== this.bytes.length) throw violation('a message is longer than its fields');
  }
}

export function violation(message: string): MediaError {
  return new MediaError('protocol_violation', message);
}

/** Returns what `read` does. Its errors become violations of the protocol. */
function malformedUnless<Value>(read: () => Value): Value {
  try {
    return read();
  } catch {
    throw violation('a message is malformed');
  }
}

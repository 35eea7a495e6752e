import { readVarint, varintLength, writeVarint } from '@sheaf/web-client/protocol';

/** Types of capsules (draft-ietf-httpbis-connect-tcp-14 §8.3) */
const types = { data: 0x08, finalData: 0x09 } as const;

/** Bytes of the longest head: two integers */
const longestHead = 16;
const nothing = Buffer.alloc(0);

/** Why the capsules of a stream carry no bytes of TCP any more */
export class CapsuleError extends Error {}

/** Returns the head of a capsule with so many bytes that its sender's side of the TCP connection has, the last ones or not. */
export function capsuleHead(bytes: number, isLast: boolean): Buffer {
  const head = Buffer.allocUnsafe(1 + varintLength(bytes));
  writeVarint(head, writeVarint(head, 0, isLast ? types.finalData : types.data), bytes);
  return head;
}

/**
 * Takes the bytes of TCP out of DATA and FINAL_DATA capsules (draft-ietf-httpbis-connect-tcp-14 §3), before their capsule is whole.
 * Capsules of other types are passed over, whatever their length is (RFC 9297 §3.2). Holds no more than an incomplete head.
 */
export class DataCapsules {
  #head = nothing;
  /** Bytes that have not come of the capsule that has begun */
  #left = 0;
  /** Whether they are bytes of TCP */
  #isData = false;
  #isFinal = false;

  /** Whether all bytes of TCP have come. */
  get ended(): boolean {
    return this.#isFinal && (this.#left === 0 || !this.#isData);
  }

  /** Returns the bytes of TCP among these bytes of the stream. @throws CapsuleError */
  take(bytes: Buffer): Buffer {
    const pieces: Buffer[] = [];
    for (let rest = bytes; rest.length > 0;) {
      if (this.#left === 0) {
        rest = this.#takeHead(rest);
        continue;
      }
      const piece = rest.subarray(0, this.#left);
      this.#left -= piece.length;
      if (this.#isData) pieces.push(piece);
      rest = rest.subarray(piece.length);
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** Says that the stream has ended. @throws CapsuleError */
  finish(): void {
    if (this.#left > 0 || this.#head.length > 0) throw new CapsuleError('the stream ends within a capsule');
    if (!this.#isFinal) throw new CapsuleError('the stream ends without FINAL_DATA');
  }

  /** Begins a capsule, once its head is complete. Returns the bytes behind the head. */
  #takeHead(bytes: Buffer): Buffer {
    const held = this.#head.length;
    const head = held === 0 ? bytes : Buffer.concat([this.#head, bytes.subarray(0, longestHead - held)]);
    const typeEnd = 1 << (head[0]! >> 6);
    const length = lengthAt(head, typeEnd);
    if (!length) {
      this.#head = Buffer.from(head);
      return nothing;
    }
    this.#head = nothing;
    this.#begin(typeOf(head), length.value);
    return bytes.subarray(length.end - held);
  }

  #begin(type: number | undefined, length: number): void {
    this.#isData = type === types.data || type === types.finalData;
    if (this.#isData && this.#isFinal) throw new CapsuleError('data follows FINAL_DATA');
    this.#isFinal ||= type === types.finalData;
    this.#left = length;
  }
}

/** Returns the type of a capsule; undefined for the largest ones, which have no meaning. */
function typeOf(head: Buffer): number | undefined {
  try {
    return readVarint(head, 0)?.value;
  } catch {
    return undefined;
  }
}

/** Reads a length; undefined when it is not complete. */
function lengthAt(head: Buffer, offset: number): ReturnType<typeof readVarint> {
  try {
    return readVarint(head, offset);
  } catch {
    throw new CapsuleError('a capsule is longer than any stream');
  }
}

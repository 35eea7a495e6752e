import { ProtocolError } from './errors.js';

/** Largest value that a JavaScript number holds exactly. RFC 9000 allows 2^62 - 1. */
export const MAX_VARINT = Number.MAX_SAFE_INTEGER;

/** Returns the number of bytes of the shortest encoding of `value` (RFC 9000 §16). */
export function varintLength(value: number): 1 | 2 | 4 | 8 {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`not a variable-length integer: ${value}`);
  }
  if (value < 0x40) return 1;
  if (value < 0x4000) return 2;
  return value < 0x4000_0000 ? 4 : 8;
}

/** Writes the shortest encoding of `value` at `offset`. Returns the offset behind it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  const length = varintLength(value);
  const view = new DataView(target.buffer, target.byteOffset + offset, length);
  switch (length) {
    case 1:
      view.setUint8(0, value);
      break;
    case 2:
      view.setUint16(0, value | 0x4000);
      break;
    case 4:
      view.setUint32(0, (value | 0x8000_0000) >>> 0);
      break;
    case 8:
      view.setBigUint64(0, BigInt(value) | 0xc000_0000_0000_0000n);
      break;
  }
  return offset + length;
}

/** Result of {@link readVarint}: the value, and the offset behind it */
export interface Varint {
  readonly value: number;
  readonly end: number;
}

/**
 * Reads one variable-length integer. Longer encodings than needed are valid (RFC 9000 §16).
 * Returns undefined when `bytes` ends before the integer does.
 * @throws ProtocolError `malformed` for values above {@link MAX_VARINT}.
 */
export function readVarint(bytes: Uint8Array, offset: number): Varint | undefined {
  const first = bytes[offset];
  if (first === undefined) return undefined;
  const end = offset + (1 << (first >> 6));
  if (end > bytes.length) return undefined;
  let value = first & 0x3f;
  for (let index = offset + 1; index < end; index += 1) value = value * 256 + bytes[index]!;
  if (value > MAX_VARINT) throw new ProtocolError('malformed', 'integer above 2^53 - 1');
  return { value, end };
}

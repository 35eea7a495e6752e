import { varintLength, writeVarint } from '@sheaf/web-client/protocol';

/** The bytes of a field of a message */
export type Field = Buffer;

export function varint(value: number): Field {
  const bytes = Buffer.alloc(varintLength(value));
  writeVarint(bytes, 0, value);
  return bytes;
}

/** Writes an integer of up to 62 bits. */
export function bigVarint(value: bigint): Field {
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return varint(Number(value));
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value | 0xc000_0000_0000_0000n);
  return bytes;
}

/** Writes one above the value, or 0 for none. */
export function optional(value: number | undefined): Field {
  return varint(value === undefined ? 0 : value + 1);
}

export function byte(value: number): Field {
  return Buffer.of(value);
}

export function flag(value: boolean): Field {
  return byte(value ? 1 : 0);
}

export function text(value: string): Field {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(bytes.length), bytes]);
}

/** Returns a message: the length of its fields, and the fields. */
export function message(...fields: readonly Field[]): Buffer {
  const length = fields.reduce((sum, field) => sum + field.length, 0);
  return Buffer.concat([varint(length), ...fields]);
}

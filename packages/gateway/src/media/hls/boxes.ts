/**
 * Boxes of ISO base media files (ISO/IEC 14496-12). The libraries that write boxes know neither VP9, AV1 nor Opus, so the few boxes of a
 * live stream are written here.
 */

/** Returns a box of this type with these contents. */
export function box(type: string, ...contents: readonly Uint8Array[]): Buffer {
  const size = contents.reduce((sum, content) => sum + content.length, 8);
  return Buffer.concat([uint32(size), Buffer.from(type, 'latin1'), ...contents]);
}

/** Returns a box that begins with a version and flags. */
export function fullBox(type: string, version: number, flags: number, ...contents: readonly Uint8Array[]): Buffer {
  return box(type, uint32(version * 0x100_0000 + flags), ...contents);
}

export function uint8(...values: readonly number[]): Buffer {
  return Buffer.from(values);
}

export function uint16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
}

export function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

export function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

export function zeros(length: number): Buffer {
  return Buffer.alloc(length);
}

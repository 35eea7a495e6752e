import type { Random } from './random.js';

const width = 640;
const height = 480;

/**
 * Creates a WebP (RFC 9649) with exactly this many bytes: one color, lossless, and an unknown chunk, which decoders
 * skip. An odd size has one byte behind the file's end. Undefined below 60 bytes.
 */
export function webp(bytes: number, random: Random): Buffer | undefined {
  const extended = Buffer.alloc(10);
  extended.writeUIntLE(width - 1, 4, 3);
  extended.writeUIntLE(height - 1, 7, 3);
  const parts = [chunk('VP8X', extended), chunk('VP8L', oneColour(random))];
  const length = 12 + parts.reduce((sum, part) => sum + part.length, 0);
  const rest = (bytes & ~1) - length;
  if (rest !== 0 && rest < 8) return undefined;
  if (rest > 0) parts.push(chunk('paDd', Buffer.alloc(rest - 8, 0x2e)));
  const head = Buffer.from('RIFF....WEBP', 'latin1');
  head.writeUInt32LE((bytes & ~1) - 8, 4);
  return Buffer.concat([head, ...parts, Buffer.alloc(bytes & 1)]);
}

function chunk(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length & 1)]);
}

/**
 * Encodes a picture in one color. Each of the five prefix codes has one symbol, so pixels take no bits (RFC 9649 §3).
 */
function oneColour(random: Random): Buffer {
  const bits: number[] = [];
  const write = (value: number, length: number): void => {
    for (let bit = 0; bit < length; bit += 1) bits.push((value >> bit) & 1);
  };
  write(0x2f, 8);
  write(width - 1, 14);
  write(height - 1, 14);
  // No alpha, version 0, no transform, no color cache, one group of codes
  write(0, 1 + 3 + 1 + 1 + 1);
  // Green, red, blue, alpha, distance: simple, one symbol, of eight bits
  for (const symbol of [random() >>> 24, random() >>> 24, random() >>> 24, 255, 0]) {
    write(0b101, 3);
    write(symbol, 8);
  }
  const bytes = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [index, bit] of bits.entries()) bytes[index >> 3] = bytes[index >> 3]! | (bit << (index & 7));
  return bytes;
}

import { crc32 } from 'node:zlib';
import { randomBytes, type Random } from './random.js';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, type and checksum of a chunk */
const chunkOverhead = 12;
const maxStored = 65_535;

/**
 * Creates a PNG (PNG specification, third edition) with exactly this many bytes: noise over a gradient, stored without
 * compression, so that nearly all bytes are pixels, and an ancillary chunk for the rest. Undefined below 70 bytes.
 */
export function png(bytes: number, random: Random): Buffer | undefined {
  const palette = bytes >= 4_000;
  let { width, height } = sizeFor(bytes - (palette ? 3 * 256 + chunkOverhead : 0));
  for (; height > 0; height -= 1) {
    const rest = bytes - fileSize(width, height, palette);
    if (rest === 0 || rest >= chunkOverhead) return file(width, height, palette, rest, random);
    // A single line becomes narrower instead.
    if (height === 1 && width > 1) [width, height] = [width - 1, 2];
  }
  return undefined;
}

function sizeFor(bytes: number): { width: number; height: number } {
  const pixels = bytes - 69;
  if (pixels < 200) return { width: Math.max(1, pixels), height: 1 };
  const width = Math.floor(Math.sqrt(pixels * 1.4));
  return { width, height: Math.floor(pixels / (width + 1)) };
}

function fileSize(width: number, height: number, palette: boolean): number {
  const raw = height * (width + 1);
  const stored = 2 + raw + Math.ceil(raw / maxStored) * 5 + 4;
  return (
    signature.length + chunkOverhead + 13 + (palette ? chunkOverhead + 768 : 0) + chunkOverhead + stored + chunkOverhead
  );
}

function file(width: number, height: number, palette: boolean, rest: number, random: Random): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, palette ? 3 : 0, 0, 0, 0], 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    ...(palette ? [chunk('PLTE', colours(random))] : []),
    // Private, ancillary, safe to copy: every decoder skips it.
    ...(rest > 0 ? [chunk('paDd', Buffer.alloc(rest - chunkOverhead, 0x2e))] : []),
    chunk('IDAT', stored(pixels(width, height, random))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

function colours(random: Random): Buffer {
  const [red, green, blue] = randomBytes(3, random);
  return Buffer.from(
    Array.from({ length: 256 }, (_, level) =>
      [red!, green!, blue!].map((channel) => Math.floor((channel * level + 255 * (level >> 2)) / 320)),
    ).flat(),
  );
}

/** Creates lines, which begin with their filter byte 0. */
function pixels(width: number, height: number, random: Random): Buffer {
  const bytes = randomBytes(height * (width + 1), random);
  for (let y = 0; y < height; y += 1) {
    const line = y * (width + 1);
    bytes[line] = 0;
    for (let x = 1; x <= width; x += 1)
      bytes[line + x] = Math.floor((x / width + y / height) * 96) + (bytes[line + x]! >> 2);
  }
  return bytes;
}

/** Creates a zlib stream of stored blocks (RFC 1950, RFC 1951 §3.2.4). */
function stored(raw: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from([0x78, 0x01])];
  for (let start = 0; start < raw.length; start += maxStored) {
    const block = raw.subarray(start, start + maxStored);
    const head = Buffer.alloc(5);
    head[0] = start + maxStored >= raw.length ? 1 : 0;
    head.writeUInt16LE(block.length, 1);
    head.writeUInt16LE(~block.length & 0xffff, 3);
    parts.push(head, block);
  }
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(adler32(raw));
  return Buffer.concat([...parts, checksum]);
}

/** Computes the checksum of zlib (RFC 1950 §8.2). */
function adler32(bytes: Buffer): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return ((b << 16) | a) >>> 0;
}

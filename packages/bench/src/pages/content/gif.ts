import { randomBytes, type Random } from './random.js';

/** Codes of eight bits for 128 colors: LZW without compression, which starts again before codes grow */
const clear = 128;
const end = 129;
const run = 120;
const maxBlock = 255;

/** The smallest file: one pixel of two colors */
const single = Buffer.from([
  ...Buffer.from('GIF89a'),
  1,
  0,
  1,
  0,
  0x80,
  0,
  0,
  0xff,
  0xff,
  0xff,
  0,
  0,
  0,
  0x2c,
  0,
  0,
  0,
  0,
  1,
  0,
  1,
  0,
  0,
  2,
  2,
  0x44,
  0x01,
  0,
  0x3b,
]);

/**
 * Creates a GIF (GIF89a) with exactly this many bytes: noise over a gradient, and a comment for the rest. Undefined for
 * sizes that no file has: below 35 bytes, and a few above.
 */
export function gif(bytes: number, random: Random): Buffer | undefined {
  const width = Math.max(1, Math.floor(Math.sqrt(bytes - 420)) || 1);
  for (
    let height = Math.ceil(bytes / width);
    height > 0;
    height = height > 64 ? Math.floor(height * 0.99) : height - 1
  ) {
    const image = imageSize(width * height);
    const padding = image <= bytes && comment(bytes - image);
    if (padding) return insertBeforeTrailer(imageOf(width, height, random), padding);
  }
  const padding = comment(bytes - single.length);
  return padding && insertBeforeTrailer(single, padding);
}

function insertBeforeTrailer(file: Buffer, extension: Buffer): Buffer {
  return Buffer.concat([file.subarray(0, -1), extension, file.subarray(-1)]);
}

function imageSize(pixels: number): number {
  const codes = pixels + Math.ceil(pixels / run) + 1;
  return 13 + 128 * 3 + 10 + 1 + codes + Math.ceil(codes / maxBlock) + 1 + 1;
}

function imageOf(width: number, height: number, random: Random): Buffer {
  const head = Buffer.alloc(13);
  head.write('GIF89a', 'latin1');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  head[10] = 0x86;
  const [red, green, blue] = randomBytes(3, random);
  const colours = Array.from({ length: 128 }, (_, level) =>
    [red!, green!, blue!].map((channel) => Math.floor((channel * level) / 255 + level)),
  ).flat();
  const place = Buffer.from([0x2c, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  place.writeUInt16LE(width, 5);
  place.writeUInt16LE(height, 7);
  return Buffer.concat([
    head,
    Buffer.from(colours),
    place,
    Buffer.from([7]),
    subBlocks(codes(width, height, random)),
    Buffer.from([0, 0x3b]),
  ]);
}

function codes(width: number, height: number, random: Random): Buffer {
  const noise = randomBytes(width * height, random);
  const out: number[] = [];
  for (let pixel = 0; pixel < noise.length; pixel += 1) {
    if (pixel % run === 0) out.push(clear);
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    out.push(Math.floor((x / width + y / height) * 48) + (noise[pixel]! >> 3));
  }
  out.push(end);
  return Buffer.from(out);
}

function subBlocks(data: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < data.length; start += maxBlock) {
    const block = data.subarray(start, start + maxBlock);
    parts.push(Buffer.from([block.length]), block);
  }
  return Buffer.concat(parts);
}

/** Creates a comment extension of exactly this length; undefined for 1, 2, 4 and below 0. */
function comment(length: number): Buffer | undefined {
  if (length === 0) return Buffer.alloc(0);
  if (length < 3 || length === 4) return undefined;
  const parts: Buffer[] = [Buffer.from([0x21, 0xfe])];
  for (let left = length - 3; left > 0;) {
    // No block of one byte may be left over, since it would have no content.
    const size = left === maxBlock + 2 ? maxBlock : Math.min(left, maxBlock + 1);
    parts.push(Buffer.from([size - 1]), Buffer.alloc(size - 1, 0x2e));
    left -= size;
  }
  return Buffer.concat([...parts, Buffer.from([0])]);
}

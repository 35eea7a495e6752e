import { createHash } from 'node:crypto';

const FILE_HEADER = 14;
const INFORMATION_HEADER = 40;

/** A picture that no coding shortens, and what a canvas has to read from it. */
export interface NoiseImage {
  readonly bmp: Buffer;
  /** SHA-256 of its pixels as `getImageData` has them, in hexadecimal. */
  readonly pixelsSha256: string;
}

/** A square BMP of 24 bits a pixel; the same for the same seed. `side` is a multiple of 4, so that lines need no padding. */
export function noiseImage(side: number, seed: number): NoiseImage {
  const pixels = noise(side * side * 3, seed);
  const header = Buffer.alloc(FILE_HEADER + INFORMATION_HEADER);
  header.write('BM');
  header.writeUInt32LE(header.length + pixels.length, 2);
  header.writeUInt32LE(header.length, 10);
  header.writeUInt32LE(INFORMATION_HEADER, FILE_HEADER);
  header.writeInt32LE(side, FILE_HEADER + 4);
  // Negative: the first line comes first.
  header.writeInt32LE(-side, FILE_HEADER + 8);
  header.writeUInt16LE(1, FILE_HEADER + 12);
  header.writeUInt16LE(24, FILE_HEADER + 14);
  return {
    bmp: Buffer.concat([header, pixels]),
    pixelsSha256: createHash('sha256').update(asRgba(pixels)).digest('hex'),
  };
}

/** BMP has blue first, a canvas red and a byte for opacity. */
function asRgba(pixels: Buffer): Buffer {
  const rgba = Buffer.alloc((pixels.length / 3) * 4, 255);
  for (let from = 0, to = 0; from < pixels.length; from += 3, to += 4) {
    rgba[to] = pixels[from + 2]!;
    rgba[to + 1] = pixels[from + 1]!;
    rgba[to + 2] = pixels[from]!;
  }
  return rgba;
}

/** Marsaglia's xorshift, 32 bits. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed + 1;
  for (let index = 0; index < length; index++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[index] = state;
  }
  return bytes;
}

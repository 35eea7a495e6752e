import type { Random } from './random.js';

/** Categories 0 to 11 of differences, all with codes of four bits */
const dcTable = Buffer.from([
  0,
  0,
  0,
  12,
  ...Array<number>(12).fill(0),
  ...Array.from({ length: 12 }, (_, category) => category),
]);
/** Only the end of a block, with the code 0 */
const acTable = Buffer.from([1, ...Array<number>(15).fill(0), 0]);
const quantum = 16;
const maxComment = 65_533;

/**
 * Creates a baseline JPEG (ITU-T T.81) with exactly this many bytes: comments, then blocks of one gray each. Undefined
 * below the size of one block with its tables.
 */
export function jpeg(bytes: number, random: Random): Buffer | undefined {
  // A quarter of a byte for each pixel, about as in photographs, in 4:3
  const width = Math.max(8, Math.floor(Math.sqrt((bytes * 16) / 3) / 8) * 8);
  const height = Math.max(8, Math.floor((width * 3) / 32) * 8);
  return compose(bytes, width, height, random) ?? compose(bytes, 8, 8, random);
}

function compose(bytes: number, width: number, height: number, random: Random): Buffer | undefined {
  const before = Buffer.concat([Buffer.from([0xff, 0xd8]), ...tables(width, height)]);
  const scan = Buffer.concat([
    segment(0xda, Buffer.from([1, 1, 0x00, 0, 63, 0])),
    entropyCoded((width / 8) * (height / 8), width / 8, random),
    Buffer.from([0xff, 0xd9]),
  ]);
  const padding = comments(bytes - before.length - scan.length);
  return padding && Buffer.concat([before, padding, scan]);
}

function tables(width: number, height: number): Buffer[] {
  const frame = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 1);
  frame.writeUInt16BE(width, 3);
  return [
    segment(0xdb, Buffer.concat([Buffer.from([0]), Buffer.alloc(64, quantum)])),
    segment(0xc0, frame),
    segment(0xc4, Buffer.concat([Buffer.from([0x00]), dcTable])),
    segment(0xc4, Buffer.concat([Buffer.from([0x10]), acTable])),
  ];
}

function segment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

/** Pads with comments. Up to three further bytes are fill bytes before a marker (T.81 §B.1.1.2). */
function comments(length: number): Buffer | undefined {
  if (length < 0) return undefined;
  const parts: Buffer[] = [];
  let left = length;
  for (; left >= 4; left -= parts.at(-1)!.length)
    parts.push(segment(0xfe, Buffer.alloc(Math.min(left - 4, maxComment), 0x2e)));
  return Buffer.concat([...parts, Buffer.alloc(left, 0xff)]);
}

/** Encodes blocks whose gray differs a little from one to the next. */
function entropyCoded(blocks: number, perLine: number, random: Random): Buffer {
  const bits = new BitWriter();
  let previous = 0;
  for (let block = 0; block < blocks; block += 1) {
    const [x, y] = [block % perLine, Math.floor(block / perLine)];
    const level = Math.round(((x + y) / (perLine * 2)) * 60 - 30) + (random() % 7) - 3;
    const difference = level - previous;
    previous = level;
    const category = difference === 0 ? 0 : 32 - Math.clz32(Math.abs(difference));
    bits.write(category, 4);
    // T.81 §F.1.2.1.1: negative differences are written minus one, without the sign.
    bits.write(difference < 0 ? difference + 2 ** category - 1 : difference, category);
    bits.write(0, 1);
  }
  return bits.end();
}

class BitWriter {
  private readonly bytes: number[] = [];
  private current = 0;
  private count = 0;

  write(value: number, length: number): void {
    for (let bit = length - 1; bit >= 0; bit -= 1) {
      this.current = (this.current << 1) | ((value >> bit) & 1);
      this.count += 1;
      if (this.count === 8) this.flush();
    }
  }

  /** Fills the last byte with ones (T.81 §F.1.2.3). */
  end(): Buffer {
    while (this.count > 0) this.write(1, 1);
    return Buffer.from(this.bytes);
  }

  private flush(): void {
    this.bytes.push(this.current);
    // A byte that looks like a marker is followed by a zero.
    if (this.current === 0xff) this.bytes.push(0);
    this.current = 0;
    this.count = 0;
  }
}

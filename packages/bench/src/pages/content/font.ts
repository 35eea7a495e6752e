/** Creates a TrueType font with exactly this many bytes (ISO/IEC 14496-22); undefined below the smallest size. */
export function font(bytes: number): Buffer | undefined {
  const least = assemble(0).length;
  const rest = bytes - least;
  // Up to three bytes that are no multiple of four follow the last table, where nobody reads them.
  return rest < 0 ? undefined : Buffer.concat([assemble(rest & ~3), Buffer.alloc(rest & 3)]);
}

/** Characters of the font: printable ASCII. Each is a box, wider from one to the next. */
const firstCharacter = 0x20;
const lastCharacter = 0x7e;
const glyphs = lastCharacter - firstCharacter + 2;
const unitsPerEm = 1000;
const ascent = 800;
const descent = -200;
const advance = (glyph: number): number => 450 + (glyph % 16) * 10;

function assemble(padding: number): Buffer {
  const outlines = Array.from({ length: glyphs }, (_, glyph) => outline(glyph));
  const tables: [string, Buffer][] = [
    ['OS/2', metrics()],
    ['cmap', characterMap()],
    ['glyf', Buffer.concat(outlines)],
    ['head', fontHeader()],
    ['hhea', numbers([1, 0, ascent, descent, 0, 610, 0, 0, 600, 1, 0, 0, 0, 0, 0, 0, 0, glyphs])],
    ['hmtx', numbers(Array.from({ length: glyphs }, (_, glyph) => [advance(glyph), 50]).flat())],
    ['loca', numbers(Array.from({ length: glyphs + 1 }, (_, glyph) => (glyph * outlines[0]!.length) / 2))],
    ['maxp', numbers([1, 0, glyphs, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])],
    ['name', names()],
    ['paDd', Buffer.alloc(padding)],
    ['post', Buffer.concat([numbers([3, 0]), Buffer.alloc(28)])],
  ];
  const directory = numbers([1, 0, tables.length, 128, 3, tables.length * 16 - 128]);
  const records: Buffer[] = [];
  const contents: Buffer[] = [];
  let offset = directory.length + tables.length * 16;
  for (const [tag, data] of tables) {
    const aligned = Buffer.concat([data, Buffer.alloc(-data.length & 3)]);
    const record = Buffer.alloc(16);
    record.write(tag, 'latin1');
    record.writeUInt32BE(checksum(aligned), 4);
    record.writeUInt32BE(offset, 8);
    record.writeUInt32BE(data.length, 12);
    records.push(record);
    contents.push(aligned);
    offset += aligned.length;
  }
  return Buffer.concat([directory, ...records, ...contents]);
}

/** Encodes big-endian numbers of 16 bits, negative ones in two's complement. */
function numbers(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => bytes.writeUInt16BE(value & 0xffff, index * 2));
  return bytes;
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let offset = 0; offset < bytes.length; offset += 4) sum = (sum + bytes.readUInt32BE(offset)) >>> 0;
  return sum;
}

/** Draws a box of four points on the curve. */
function outline(glyph: number): Buffer {
  const [left, right, bottom, top] = [50, advance(glyph) - 50, 0, 700];
  return Buffer.concat([
    numbers([1, left, bottom, right, top, 3, 0]),
    Buffer.from([1, 1, 1, 1]),
    numbers([left, 0, right - left, 0]),
    numbers([bottom, top - bottom, 0, bottom - top]),
    Buffer.alloc(2),
  ]);
}

function fontHeader(): Buffer {
  return Buffer.concat([
    numbers([1, 0, 1, 0, 0, 0, 0x5f0f, 0x3cf5, 0, unitsPerEm]),
    Buffer.alloc(16),
    numbers([50, 0, 550, 700, 0, 8, 2, 0, 0]),
  ]);
}

/** Builds a character map (format 4) with one segment, in which glyphs follow characters, and the last segment. */
function characterMap(): Buffer {
  const delta = 1 - firstCharacter;
  const segments = numbers([4, 32, 0, 4, 4, 1, 0, lastCharacter, 0xffff, 0, firstCharacter, 0xffff, delta, 1, 0, 0]);
  return Buffer.concat([numbers([0, 1, 3, 1, 0, 12]), segments]);
}

function metrics(): Buffer {
  const os2 = Buffer.alloc(96);
  const set = (offset: number, ...values: number[]): void => void numbers(values).copy(os2, offset);
  set(0, 4, 500, 400, 5, 0);
  set(10, 650, 600, 0, 75, 650, 600, 0, 350, 50, 250);
  os2.write('SHEF', 58, 'latin1');
  set(62, 0x40, firstCharacter, lastCharacter, ascent, descent, 0, ascent, -descent);
  set(86, 500, 700, 0, 32, 1);
  return os2;
}

function names(): Buffer {
  const strings = [
    'Sheaf Boxes',
    'Regular',
    'Sheaf Boxes Regular',
    'Sheaf Boxes Regular',
    'Version 1.0',
    'SheafBoxes-Regular',
  ];
  const encoded = strings.map((text) => Buffer.from(text, 'utf16le').swap16());
  let offset = 0;
  const records = encoded.map((text, index) => {
    const record = numbers([3, 1, 0x409, index + 1, text.length, offset]);
    offset += text.length;
    return record;
  });
  return Buffer.concat([numbers([0, strings.length, 6 + strings.length * 12]), ...records, ...encoded]);
}

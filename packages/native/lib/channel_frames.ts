/**
 * Frames of a group as moq-lite has them: the length as a variable-length integer (RFC 9000 §16), and so many bytes.
 */

/** Frames that are longer end the reading: no source of ours writes them. */
const maxFrame = 32 * 1024 * 1024;

/** Returns what stands before a frame of so many bytes. @throws RangeError above 32 MiB */
export function frameHeader(bytes: number): Buffer {
  if (bytes > maxFrame) throw new RangeError(`a frame has at most ${maxFrame} bytes, not ${bytes}`);
  if (bytes < 0x40) return Buffer.of(bytes);
  if (bytes < 0x4000) return Buffer.of(0x40 | (bytes >> 8), bytes & 0xff);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(0x80000000 + bytes);
  return header;
}

/** Returns the length of the first frame and that of its header; undefined when bytes are missing. @throws RangeError */
function readHeader(bytes: Buffer): { header: number; length: number } | undefined {
  if (bytes.length === 0) return undefined;
  const header = 1 << (bytes[0]! >> 6);
  if (bytes.length < header) return undefined;
  let length = bytes[0]! & 0x3f;
  for (let i = 1; i < header; i += 1) length = length * 256 + bytes[i]!;
  if (length > maxFrame) throw new RangeError(`a frame has at most ${maxFrame} bytes, not ${length}`);
  return { header, length };
}

/**
 * Splits the bytes of a group into its frames.
 * @throws RangeError for a frame above 32 MiB, and for a group that ends within a frame
 */
export async function* readFrames(group: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = 1;
  for await (const part of group) {
    parts.push(part);
    size += part.length;
    if (size < wanted) continue;
    let rest = Buffer.concat(parts);
    let found = readHeader(rest);
    while (found && rest.length >= found.header + found.length) {
      yield rest.subarray(found.header, found.header + found.length);
      rest = rest.subarray(found.header + found.length);
      found = readHeader(rest);
    }
    parts = [rest];
    size = rest.length;
    wanted = found ? found.header + found.length : size + 1;
  }
  if (size > 0) throw new RangeError('the group ends within a frame');
}

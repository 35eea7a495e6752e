import { createHash, randomUUID } from 'node:crypto';
import { frameHeader, readFrames, type ChannelSource } from '@sheaf/native';
import { z } from 'zod';

/** Bytes of a publication in one group. A receiver that joins gets the newest group from its start. */
const groupBytes = 1024 * 1024;

/** Longest first frame of a group */
const maxHeadBytes = 4096;

/**
 * First frame of each group: which part of a publication follows. The last group of a publication has no bytes, and tells
 * their number and hash.
 */
const partHead = z.object({
  id: z.uuid(),
  name: z.string().max(255),
  offset: z.number().int().min(0),
  end: z.object({ bytes: z.number().int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
});

export type PartHead = z.output<typeof partHead>;

/** What was published */
export interface Published {
  bytes: number;
  sha256: string;
  groups: number;
}

/** Writes bytes to a channel, as they come. */
export async function publish(source: ChannelSource, bytes: AsyncIterable<Buffer>, name: string): Promise<Published> {
  const id = randomUUID();
  const hash = createHash('sha256');
  let offset = 0;
  let groups = 0;
  const begin = async (head: Omit<PartHead, 'id' | 'name'>) => {
    const group = source.openGroup();
    groups += 1;
    await writeFrame(group, Buffer.from(JSON.stringify({ id, name, ...head } satisfies PartHead)));
    return group;
  };
  let group: Awaited<ReturnType<typeof begin>> | undefined;
  let room = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    for (let rest = chunk; rest.length > 0;) {
      if (room === 0) {
        await group?.end();
        group = await begin({ offset });
        room = groupBytes;
      }
      const part = rest.subarray(0, room);
      await writeFrame(group!, part);
      rest = rest.subarray(part.length);
      room -= part.length;
      offset += part.length;
    }
  }
  await group?.end();
  const sha256 = hash.digest('hex');
  await (await begin({ offset, end: { bytes: offset, sha256 } })).end();
  return { bytes: offset, sha256, groups };
}

async function writeFrame(group: ReturnType<ChannelSource['openGroup']>, frame: Buffer): Promise<void> {
  await group.write(frameHeader(frame.length));
  await group.write(frame);
}

/** A group of a publication: what it is, and its bytes */
export interface Part {
  head: PartHead;
  bytes: AsyncIterable<Buffer>;
}

/** Reads a group as part of a publication. @throws RangeError for a group that no publisher writes */
export async function readPart(group: AsyncIterable<Buffer>): Promise<Part> {
  const frames = readFrames(group);
  const first = await frames.next();
  const text = first.done === true || first.value.length > maxHeadBytes ? '' : first.value.toString();
  const head = partHead.safeParse(parseJson(text));
  if (!head.success) throw new RangeError('this group is no part of a publication');
  return { head: head.data, bytes: frames };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

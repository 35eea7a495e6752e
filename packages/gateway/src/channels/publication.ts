import { createHash, randomUUID } from 'node:crypto';
import { frameHeader, readFrames, type ChannelGroupWriter, type ChannelSource } from '@sheaf/native';
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
  /** Whether the bytes are the files of a directory */
  directory: z.boolean().default(false),
  offset: z.number().int().min(0),
  end: z.object({ bytes: z.number().int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
});

export type PartHead = z.output<typeof partHead>;

/** What is published */
export type Title = Pick<PartHead, 'name' | 'directory'>;

/** What was published */
export interface Published {
  bytes: number;
  sha256: string;
  groups: number;
}

/**
 * Writes bytes to a channel, as they come. Rejects with what `bytes` throws, once receivers are told that no more comes. `id` tells
 * the publication from all others.
 */
export async function publish(
  source: ChannelSource,
  bytes: AsyncIterable<Buffer>,
  title: Title,
  id: string = randomUUID(),
): Promise<Published> {
  const publication = new Publication(source, title, id);
  try {
    for await (const chunk of bytes) await publication.write(chunk);
    return await publication.end();
  } catch (error) {
    await publication.abort();
    throw error;
  }
}

class Publication {
  readonly #hash = createHash('sha256');
  #group: ChannelGroupWriter | undefined;
  #groups = 0;
  #offset = 0;
  /** Bytes that the open group may still have */
  #room = 0;

  constructor(
    private readonly source: ChannelSource,
    private readonly title: Title,
    private readonly id: string,
  ) {}

  async write(chunk: Buffer): Promise<void> {
    this.#hash.update(chunk);
    for (let rest = chunk; rest.length > 0;) {
      if (this.#room === 0) await this.#begin({});
      const part = rest.subarray(0, this.#room);
      await this.#writeFrame(part);
      rest = rest.subarray(part.length);
      this.#room -= part.length;
      this.#offset += part.length;
    }
  }

  async end(): Promise<Published> {
    const bytes = this.#offset;
    const sha256 = this.#hash.digest('hex');
    await this.#begin({ end: { bytes, sha256 } });
    await this.#group?.end();
    return { bytes, sha256, groups: this.#groups };
  }

  /** Resets the open group: receivers would wait for the rest of it, and a channel bounds the groups behind the oldest open one. */
  async abort(): Promise<void> {
    // Fails when the channel is closed, which told the receivers.
    await this.#group?.reset().catch(() => undefined);
  }

  async #begin(more: Pick<PartHead, 'end'>): Promise<void> {
    await this.#group?.end();
    this.#group = this.source.openGroup();
    this.#groups += 1;
    this.#room = groupBytes;
    const head: PartHead = { id: this.id, ...this.title, offset: this.#offset, ...more };
    await this.#writeFrame(Buffer.from(JSON.stringify(head)));
  }

  async #writeFrame(frame: Buffer): Promise<void> {
    await this.#group?.write(frameHeader(frame.length));
    await this.#group?.write(frame);
  }
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

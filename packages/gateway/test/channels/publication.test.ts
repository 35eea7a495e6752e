import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { frameHeader, readFrames, type ChannelGroupWriter, type ChannelSource } from '@sheaf/native';
import { describe, expect, it } from 'vitest';
import { publish, readPart } from '../../src/channels/publication.js';

/** A source that keeps what is written, and the groups in the order in which they began. */
function memorySource() {
  const groups: { parts: Buffer[]; ended: boolean; reset: boolean }[] = [];
  const openGroup = (): ChannelGroupWriter => {
    expect(groups.every(({ ended }) => ended)).toBe(true);
    const group = { parts: [] as Buffer[], ended: false, reset: false };
    groups.push(group);
    return {
      id: groups.length,
      write: (bytes) => Promise.resolve(void group.parts.push(Buffer.from(bytes))),
      end: () => Promise.resolve(void (group.ended = true)),
      reset: () => Promise.resolve(void (group.reset = true)),
    };
  };
  return { source: { openGroup } as ChannelSource, groups };
}

/** Yields bytes in pieces of this size. */
async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) {
    await Promise.resolve();
    yield bytes.subarray(start, start + size);
  }
}

async function collect(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}

describe('a publication', () => {
  it.each([0, 1, 1_048_576, 3_000_001])('of %i bytes is read as it was published', async (size) => {
    const bytes = randomBytes(size);
    const { source, groups } = memorySource();
    const published = await publish(source, pieces(bytes, 300_000), { name: 'name.bin', directory: size === 1 });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(published).toEqual({ bytes: size, sha256, groups: Math.ceil(size / 1_048_576) + 1 });
    expect(groups).toHaveLength(published.groups);
    let read = Buffer.alloc(0);
    for (const [index, group] of groups.entries()) {
      expect(group.ended).toBe(true);
      const { head, bytes: part } = await readPart(pieces(Buffer.concat(group.parts), 1_000));
      expect(head).toMatchObject({ name: 'name.bin', directory: size === 1, offset: read.length });
      expect(head.end).toEqual(index === groups.length - 1 ? { bytes: size, sha256 } : undefined);
      read = Buffer.concat([read, await collect(part)]);
    }
    expect(read.equals(bytes)).toBe(true);
  });

  it('has the bytes of the documents', async () => {
    const wire = readFileSync(new URL('../../../../docs/reference/wire.md', import.meta.url), 'utf8');
    const [, vector = ''] = /has the groups\n\n```\n([^`]*)```/.exec(wire) ?? [];
    const documented = vector.split(/^group/m).slice(1);
    const hex = documented.map((group) =>
      Array.from(
        group.matchAll(/^ +([0-9a-f]+) +(.*)$/gm),
        ([, length, text]) => length! + Buffer.from(text!).toString('hex'),
      ),
    );
    const { source, groups } = memorySource();
    const id = '6f1c2a52-6d0a-4f0e-9a5e-0d8a4a3f3f11';
    await publish(source, pieces(Buffer.from('hello'), 5), { name: 'note', directory: false }, id);
    expect(hex.map((frames) => frames.join(''))).toEqual(
      groups.map(({ parts }) => Buffer.concat(parts).toString('hex')),
    );
  });

  it('resets its open group when its bytes fail, and tells why', async () => {
    const { source, groups } = memorySource();
    const failing = async function* (): AsyncGenerator<Buffer> {
      yield* pieces(Buffer.alloc(1_500_000), 300_000);
      throw new Error('the input broke off');
    };
    await expect(publish(source, failing(), { name: 'name.bin', directory: false })).rejects.toThrow(
      'the input broke off',
    );
    expect(groups.map(({ ended, reset }) => [ended, reset])).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  const frame = (text: string): Buffer => Buffer.concat([frameHeader(text.length), Buffer.from(text)]);
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['no JSON', frame('hello')],
    ['another head', frame('{"id":"x","name":"","offset":0}')],
    ['a long head', frame(`"${'x'.repeat(5_000)}"`)],
    ['a part of a frame', Buffer.of(0x40)],
    ['a frame above the limit', Buffer.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)],
  ])('does not begin with %s', async (_name, bytes) => {
    await expect(readPart(pieces(bytes, 7))).rejects.toThrow(RangeError);
  });
});

it('frames have lengths of one to four bytes', async () => {
  const sizes = [0, 63, 64, 16_383, 16_384, 70_000];
  const frames = sizes.map((size) => Buffer.alloc(size, size % 251));
  const bytes = Buffer.concat(frames.flatMap((each) => [frameHeader(each.length), each]));
  expect(sizes.map((size) => frameHeader(size).length)).toEqual([1, 1, 2, 2, 4, 4]);
  const read: Buffer[] = [];
  for await (const each of readFrames(pieces(bytes, 777))) read.push(Buffer.from(each));
  expect(read.map((each) => each.toString('hex'))).toEqual(frames.map((each) => each.toString('hex')));
  expect(() => frameHeader(33_554_433)).toThrow(RangeError);
});

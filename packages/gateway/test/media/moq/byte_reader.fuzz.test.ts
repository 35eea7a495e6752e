import { ReadableStream } from 'node:stream/web';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeFrame, timestampBehind } from '../../../src/media/model/frame.js';
import { MediaError } from '../../../src/media/model/media_error.js';
import { Allowance, ByteReader } from '../../../src/media/moq/byte_reader.js';

const runs = { numRuns: 500 };

/** A stream of these bytes in pieces of these sizes. */
function streamOf(bytes: Uint8Array, sizes: readonly number[]): ReadableStream<Uint8Array> {
  let offset = 0;
  let piece = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (offset === bytes.length) return controller.close();
      const size = sizes[piece % sizes.length]!;
      piece += 1;
      controller.enqueue(bytes.subarray(offset, offset + size));
      offset = Math.min(bytes.length, offset + size);
    },
  });
}

const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 });

interface Read {
  timestamp: number;
  payload: Buffer;
}

async function readFrames(reader: ByteReader): Promise<Read[]> {
  const frames: Read[] = [];
  for (;;) {
    const distance = await reader.varint();
    if (distance === undefined) return frames;
    const timestamp = timestampBehind(frames.at(-1)?.timestamp ?? 0, distance);
    const length = await reader.varint();
    if (length === undefined) throw new MediaError('protocol_violation', 'a frame has no length');
    const payload = Buffer.from(await reader.bytes(length));
    frames.push({ timestamp, payload });
  }
}

test('frames survive the round trip, whatever pieces they come in', async () => {
  const frame = fc.record({
    timestamp: fc.nat(2 ** 31 - 1),
    payload: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 10 }), sizes, async (frames, pieces) => {
      let previous = 0;
      const records = frames.map(({ timestamp, payload }) => {
        const { record } = makeFrame(previous, timestamp, payload);
        previous = timestamp;
        return record;
      });
      const reader = new ByteReader(streamOf(Buffer.concat(records), pieces), new Allowance(1_000));
      expect(await readFrames(reader)).toEqual(frames);
    }),
    runs,
  );
});

test('a stream of hostile bytes is frames or a violation, and all memory comes back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), sizes, async (bytes, pieces) => {
      const allowance = new Allowance(1_000);
      const reader = new ByteReader(streamOf(bytes, pieces), allowance);
      const error = await readFrames(reader).then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (error !== undefined) expect(error).toBeInstanceOf(MediaError);
      reader.cancel(new MediaError('cancelled', 'done'));
      expect(() => allowance.take(1_000)).not.toThrow();
    }),
    runs,
  );
});

test('frames that do not come to an end use no more than the allowance, over all streams', async () => {
  const allowance = new Allowance(10_000);
  const endless = (): ReadableStream<Uint8Array> =>
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1_000)) });
  const readers = Array.from({ length: 5 }, () => new ByteReader(endless(), allowance));
  for (const reader of readers) await expect(reader.bytes(1_000_000)).rejects.toMatchObject({ kind: 'too_large' });
  for (const reader of readers) reader.cancel(new MediaError('too_large', 'done'));
  expect(() => allowance.take(10_000)).not.toThrow();
});

test('an integer above 2^53 - 1 and a message above 16 KiB are violations', async () => {
  const reader = (bytes: Uint8Array): ByteReader => new ByteReader(streamOf(bytes, [1]), new Allowance(1_000));
  await expect(reader(Buffer.alloc(8, 0xff)).varint()).rejects.toMatchObject({ kind: 'protocol_violation' });
  await expect(reader(Buffer.from('80010000', 'hex')).message()).rejects.toMatchObject({ kind: 'protocol_violation' });
});

import { ReadableStream } from 'node:stream/web';
import { expect, it } from 'vitest';
import { MediaError } from '../../../src/media/model/media_error.js';
import { Allowance, ByteReader } from '../../../src/media/moq/byte_reader.js';

it.each([
  ['between messages', []],
  ['within a message', [9, 1, 2]],
])('a stream that this side gives up %s is no violation by the peer', async (_name, bytes) => {
  const stream = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Buffer.from(bytes)) });
  const reader = new ByteReader(stream, new Allowance(100));
  const message = reader.requiredMessage();
  // The reader has taken what there is, and waits for more.
  await new Promise((resolve) => setImmediate(resolve));
  reader.cancel(new MediaError('cancelled', 'nobody wants it any more'));
  await expect(message).rejects.toMatchObject({ kind: 'cancelled' });
});

import type { Readable } from 'node:stream';
import type { ReturnedBody } from '@sheaf/native';

/**
 * Appends all bytes of `source` to a body of this length, as there is room. Stops when the body is over. If the source fails, or
 * has more or fewer bytes, fails the body and rejects.
 */
export async function appendAll(source: Readable, length: number, body: ReturnedBody): Promise<void> {
  // A source that waits for its next bytes would not notice.
  void body.over.then(() => source.destroy());
  let rest = length;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      rest -= chunk.length;
      if (rest < 0) throw new Error(`the body is longer than ${length} bytes`);
      if (!body.append(chunk)) await body.room();
      if (body.isOver) return;
    }
    if (rest > 0) throw new Error(`the body ended ${rest} bytes before its end`);
  } catch (error) {
    if (body.isOver) return;
    body.fail();
    throw error;
  }
}

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BodyHash } from '../src/download/body_hash.js';
import { HashThread } from '../src/download/hash_thread.js';

/** Chunks of these sizes, over and over. */
async function hashed(
  thread: HashThread,
  sizes: readonly number[],
  count: number,
  seed: number,
): Promise<{ sha256: string; expected: string }> {
  const hash = new BodyHash(thread);
  const whole = createHash('sha256');
  for (let index = 0; index < count; index += 1) {
    const chunk = Buffer.allocUnsafe(sizes[index % sizes.length]!).fill(seed + index);
    whole.update(chunk);
    await hash.update(chunk);
  }
  return { sha256: await hash.digest(), expected: whole.digest('hex') };
}

describe('the hash of a body', () => {
  it.each([
    ['without a byte', [1], 0],
    ['small', [1_000, 64 * 1024], 20],
    ['on the verge of another thread', [64 * 1024], 64],
    ['a byte less than that', [4 * 1024 * 1024 - 1], 1],
    ['in chunks that are larger than a piece', [3_000_000], 4],
    ['large, in whole buffers', [64 * 1024], 800],
    ['large, in chunks of all sizes', [1, 100, 4_000, 32 * 1024 - 1, 32 * 1024, 64 * 1024], 600],
  ])('%s', async (_name, sizes, count) => {
    const { sha256, expected } = await hashed(new HashThread(), sizes, count, 1);
    expect(sha256).toBe(expected);
  });

  it('of bytes that were written to its own memory, of which a long body takes little', async () => {
    const hash = new BodyHash(new HashThread());
    const whole = createHash('sha256');
    const memory = new Set<ArrayBufferLike>();
    for (let index = 0; index < 300; index += 1) {
      const room = hash.room();
      memory.add(room.buffer);
      // As much as came, at times all that there is room for.
      const part = room.subarray(0, index % 3 === 0 ? room.byteLength : 200_000).fill(index);
      whole.update(part);
      await hash.take(part.byteLength);
    }
    expect(await hash.digest()).toBe(whole.digest('hex'));
    expect(memory.size).toBeLessThan(16);
  });

  it('of several bodies at one time', async () => {
    const thread = new HashThread();
    for (const { sha256, expected } of await Promise.all(
      [1, 2, 3, 4].map((seed) => hashed(thread, [64 * 1024, 20_000], 300, seed)),
    ))
      expect(sha256).toBe(expected);
  });
});

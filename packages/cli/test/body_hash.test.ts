import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BodyHash } from '../src/download/body_hash.js';
import { HashThread } from '../src/download/hash_thread.js';

/** Chunks of these sizes, over and over, as the transport and Node make them: small ones share their memory. */
async function hashed(thread: HashThread, sizes: readonly number[], count: number, seed: number): Promise<{ sha256: string; expected: string }> {
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
    ['large, in whole buffers', [64 * 1024], 800],
    ['large, in chunks of all sizes', [1, 100, 4_000, 32 * 1024 - 1, 32 * 1024, 64 * 1024], 600],
  ])('%s', async (_name, sizes, count) => {
    const { sha256, expected } = await hashed(new HashThread(), sizes, count, 1);
    expect(sha256).toBe(expected);
  });

  it('of several bodies at one time', async () => {
    const thread = new HashThread();
    for (const { sha256, expected } of await Promise.all([1, 2, 3, 4].map((seed) => hashed(thread, [64 * 1024, 20_000], 300, seed)))) expect(sha256).toBe(expected);
  });
});

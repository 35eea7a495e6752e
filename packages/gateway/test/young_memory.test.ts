import { expect, test } from 'vitest';
import { collectYoung, YoungMemory } from '../src/limits/young_memory.js';

const MB = 2 ** 20;

test('buffers are given back once there are 4 MB of them, and not all the time', () => {
  let collected = 0;
  const memory = new YoungMemory(() => (collected += 1));
  for (let i = 0; i < 63; i++) memory.allocated(65_536, 1_000);
  expect(collected).toBe(0);
  memory.allocated(65_536, 1_000);
  expect(collected).toBe(1);
  for (let i = 0; i < 1_000; i++) memory.allocated(65_536, 1_009);
  expect(collected).toBe(1);
  memory.allocated(1, 1_010);
  expect(collected).toBe(2);
});

test('what nobody has any more is freed', async () => {
  collectYoung();
  let held: Buffer[] = Array.from({ length: 16 }, () => Buffer.allocUnsafeSlow(MB));
  const before = process.memoryUsage().arrayBuffers;
  expect(before).toBeGreaterThan(16 * MB);
  held = [];
  // They are freed by a thread beside this one.
  await expect.poll(() => (collectYoung(), before - process.memoryUsage().arrayBuffers), { timeout: 10_000 }).toBeGreaterThan(12 * MB);
  expect(held).toEqual([]);
  expect('gc' in globalThis).toBe(false);
});

// Each measurement has a process of its own, since V8's flags hold for the whole process.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const heap = fileURLToPath(new URL('../dist/heap.js', import.meta.url));

/**
 * Replaces some megabytes that live, and writes the largest size of the young generation in bytes. Each turn allocates less
 * than fills it, since collections are reported between turns.
 */
const load = `
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
const kept = [];
let largest = 0;
for (let round = 0; round < 2_000; round++) {
  for (let i = 0; i < 2_000; i++) kept[(round * 2_000 + i) % 100_000] = { round, i, text: [i] };
  await turn();
  largest = Math.max(largest, getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size);
}
console.log(largest);
`;

async function youngAfterLoad(first: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', `${first}${load}`]);
  return Number(stdout);
}

it('the young generation stays at some 8 MB, where V8 would let it grow', async () => {
  expect(await youngAfterLoad('')).toBeGreaterThan(12 * 2 ** 20);
  expect(await youngAfterLoad(`await import(${JSON.stringify(heap)});`)).toBeLessThan(12 * 2 ** 20);
});

/**
 * Holds some megabytes for a connection until a collection was forced, closes the connection, and writes how many of these
 * bytes are still there after the next one.
 */
const leave = `
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
const used = () => getHeapStatistics().used_heap_size;
let onForced;
const forced = () => new Promise((resolve) => (onForced = resolve));
new PerformanceObserver((list) => {
  if (list.getEntries().some(({ detail }) => detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED)) onForced?.();
}).observe({ entryTypes: ['gc'] });
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const client = connect(server.address().port, '127.0.0.1');
await once(client, 'connect');
const before = used();
globalThis.kept = Array.from({ length: 400_000 }, (_, i) => ({ i }));
await forced();
delete globalThis.kept;
client.destroy();
await forced();
console.log(used() - before);
process.exit();
`;

it('an idle gateway collects what a closed connection left', async () => {
  const program = `await import(${JSON.stringify(heap)});${leave}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect(Number(stdout)).toBeLessThan(4 * 2 ** 20);
});

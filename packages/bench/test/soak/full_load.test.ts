import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { sheaf } from '../interop/programs.js';

test('a soak with hostile clients makes all requests of the others, and prints the seed', async () => {
  const child = spawn(
    sheaf,
    ['bench', 'soak', '--requests', '2000', '--connections', '2', '--hostile', '20%', '--seed', '7', '--json'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  expect(errors).toContain('seed 7');
  const report = JSON.parse(out) as { hostile: Record<string, number>; problems: string[] };
  expect(report).toMatchObject({ requests: 2_000, failed: 0, failures: [], parameters: { seed: 7, hostile: 0.2 } });
  expect(Object.values(report.hostile).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  // A soak as short as this one says nothing about memory.
  for (const problem of report.problems) expect(problem).toMatch(/^memory grew by \d+ MiB$/);
  expect(code === 0).toBe(report.problems.length === 0);
});

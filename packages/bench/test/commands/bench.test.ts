import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { benchOptions } from '../../src/run_bench.js';

const program = fileURLToPath(new URL('../../bin/sheaf-bench.js', import.meta.url));

test('sheaf-bench and docs/reference/cli.md name the experiments with their options', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--help']);
  const text = await readFile(new URL('../../../../docs/reference/cli.md', import.meta.url), 'utf8');
  for (const [name, options] of Object.entries(benchOptions)) {
    const row = new RegExp(`^\\| \`${name}\` \\|.*$`, 'm').exec(text)?.[0] ?? '';
    expect(stdout).toContain(name);
    for (const option of options) {
      expect(row).toContain(`\`--${option}\``);
      // Up to the next option: descriptions have several lines.
      expect(stdout).toMatch(new RegExp(`--${option} (?:(?!\\n +--)[^])*${name}`));
    }
  }
});

test('sheaf-bench ends with the code of the experiment', async () => {
  await expect(promisify(execFile)(process.execPath, [program, 'nothing'])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("error[BENCH_UNKNOWN]: there is no experiment 'nothing'"),
  });
});

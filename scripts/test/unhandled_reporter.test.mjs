import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../setup/stamp.mjs';

/** Runs Vitest over one file. Returns the reported errors. */
function errorsOf(source) {
  const folder = mkdtempSync(join(tmpdir(), 'unhandled-'));
  try {
    writeFileSync(join(folder, 'one.test.js'), source);
    const unhandled = join(folder, 'unhandled.json');
    const reporter = join(root, 'scripts', 'stages', 'unhandled_reporter.mjs');
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    spawnSync(process.execPath, [vitest, 'run', '--globals', `--root=${folder}`, `--reporter=${reporter}`], {
      cwd: folder,
      env: { ...process.env, SHEAF_UNHANDLED: unhandled },
    });
    return JSON.parse(readFileSync(unhandled, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('names an error that belongs to no test, also where a test failed', () => {
  const late = "setTimeout(() => { throw new RangeError('from nowhere') }, 0);";
  const wait = 'await new Promise((resolve) => setTimeout(resolve, 50));';
  assert.deepEqual(errorsOf(`test('fails', async () => { ${late} ${wait} throw new Error('own') })`), [
    'RangeError: from nowhere',
  ]);
});

test('has nothing to name where tests alone fail', () => {
  assert.deepEqual(errorsOf("test('fails', () => { throw new Error('own') })"), []);
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ended, finish, whyNoSystem } from '../pack/minimal_system.mjs';

test('a machine that cannot make the system says why', () => {
  const path = process.env.PATH;
  try {
    process.env.PATH = '/nonexistent';
    assert.match(whyNoSystem(), /^(?:it needs (?:Linux on x86-64|root)|mmdebstrap is missing; run `apt-get install )/);
  } finally {
    process.env.PATH = path;
  }
});

test('a program has ended when what it started has ended, too', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-ended-'));
  try {
    const mark = join(directory, 'mark');
    // The child in the background learns by the end of its input that its parent is gone.
    const script = 'exec 3<&0; (cat <&3; touch "$1") & exit 3';
    const child = spawn('sh', ['-c', script, 'sh', mark], { stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdout.resume();
    child.once('exit', () => child.stdin.end());
    assert.equal(await ended(child), 3);
    assert.ok(existsSync(mark));
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a command that fails, is missing or is interrupted is an error', async () => {
  await finish(['true']);
  await assert.rejects(finish(['sh', '-c', 'exit 7']), { message: 'A command ended with 7; its message is above.' });
  await assert.rejects(finish([join(tmpdir(), 'nonexistent', 'program')]), { code: 'ENOENT' });
  const interruption = new AbortController();
  const waiting = finish(['sleep', '600'], interruption.signal);
  interruption.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
});

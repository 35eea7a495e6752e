import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRecent } from '../setup/interop.mjs';

test('reads the versions that go and cargo print', () => {
  assert.ok(isRecent('go version go1.26.8 linux/amd64', [1, 21]));
  assert.ok(isRecent('go version go1.21 linux/amd64', [1, 21]));
  assert.ok(!isRecent('go version go1.19.8 linux/amd64', [1, 21]));
  assert.ok(isRecent('cargo 1.96.0 (30a34c682 2026-05-25)', [1, 95]));
  assert.ok(!isRecent('cargo 0.66.0', [1, 95]));
  assert.ok(isRecent('cargo 2.0.0', [1, 95]));
});

test('takes a command that is absent for too old', () => {
  assert.ok(!isRecent(undefined, [1, 21]));
});

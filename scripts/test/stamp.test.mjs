import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesBelow } from '../setup/stamp.mjs';

test('a folder of sources counts whatever its name is, and folders of outputs do not', () => {
  const files = filesBelow('packages/bench');
  assert.ok(files.includes('packages/bench/src/pages/build/fixtures.ts'));
  assert.deepEqual(
    files.filter((file) => /^packages\/bench\/(?:dist|node_modules)\/|\/target\//.test(file)),
    [],
  );
});

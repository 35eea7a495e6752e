import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesBelow } from '../setup/stamp.mjs';
import { steps } from '../setup/steps.mjs';

test('a folder of sources counts whatever its name is, and folders of outputs do not', () => {
  const files = filesBelow('packages/bench');
  assert.ok(files.includes('packages/bench/src/pages/build/fixtures.ts'));
  assert.deepEqual(
    files.filter((file) => /^packages\/bench\/(?:dist|node_modules)\/|\/target\//.test(file)),
    [],
  );
});

test('results that an experiment keeps do not make its programs outdated', () => {
  const inputs = steps('build')
    .find(({ name }) => name === 'typescript')
    .inputs();
  assert.ok(inputs.includes('packages/bench/src/evidence/results/result.ts'));
  assert.deepEqual(
    inputs.filter((file) => file.startsWith('packages/bench/results/')),
    [],
  );
});

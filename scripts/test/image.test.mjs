import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCopy, readStages } from '../image/dockerfile.mjs';

test('a Dockerfile is its stages, and a continued line is one step', () => {
  const text =
    '# A comment\nFROM node:20 AS build\nRUN one \\\n    && two\n# Another\n\nFROM node:20-slim\nUSER 1:1\nCMD ["up"]\n';
  assert.deepEqual(readStages(text), [
    { base: 'node:20', name: 'build', steps: [{ instruction: 'RUN', rest: 'one && two' }] },
    {
      base: 'node:20-slim',
      name: undefined,
      steps: [
        { instruction: 'USER', rest: '1:1' },
        { instruction: 'CMD', rest: '["up"]' },
      ],
    },
  ]);
});

test('what is no Dockerfile is an error', () => {
  assert.throws(() => readStages('FROM node\nrun it\n'), /this is no instruction: run it/);
  assert.throws(() => readStages('RUN true\n'), /stands before the first FROM/);
});

test('a copy names its stage, its sources and its target', () => {
  assert.deepEqual(readCopy('--from=build /a /b'), { from: 'build', sources: ['/a'], target: '/b' });
  assert.deepEqual(readCopy('a b /c/'), { from: undefined, sources: ['a', 'b'], target: '/c/' });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sumWithSecondRuns } from '../stages/alone.mjs';

const passing = { passed: 2, failures: [], skipped: ['d: no network'] };
const failing = { passed: 1, failures: ['b: slow'], skipped: [] };
const outcomes = (...failed) => new Map([['a', passing], ...failed.map((name) => [name, failing])]);

test('what passes alone counts as passed, and is named with its first reason', async () => {
  const ran = [];
  const sum = await sumWithSecondRuns(outcomes('b'), [], async (name, first) => {
    ran.push([name, first]);
    return { passed: 2, failures: [], skipped: [] };
  });
  assert.deepEqual(ran, [['b', failing]]);
  assert.deepEqual(sum, { passed: 4, failures: [], skipped: ['d: no network'], unsteady: ['b: slow'] });
});

test('what fails alone, too, is a failure with its second reason', async () => {
  const sum = await sumWithSecondRuns(outcomes('b'), [], async () => ({ ...failing, failures: ['b: wrong'] }));
  assert.deepEqual([sum.failures, sum.unsteady], [['b: wrong'], []]);
});

test('nothing runs again where many fail, something is broken, or nobody asked for it', async () => {
  const never = () => assert.fail('it ran again');
  assert.equal((await sumWithSecondRuns(outcomes('b', 'c', 'd', 'e'), [], never)).failures.length, 4);
  assert.deepEqual((await sumWithSecondRuns(outcomes('b'), ['f ended with 139'], never)).failures, [
    'b: slow',
    'f ended with 139',
  ]);
  assert.deepEqual((await sumWithSecondRuns(outcomes('b'), [])).failures, ['b: slow']);
});

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { finishRounds } from '../../../src/evidence/runners/rounds.js';

test('an interrupted run goes on with the round that it did not finish', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-rounds-'));
  const common = { runs: 3, seed: 0, quick: false, directory, progress: () => undefined };
  const measured: number[] = [];
  const measure = (round: number) => {
    measured.push(round);
    return Promise.resolve([{ arm: 'one', at: { size: 1 }, values: { time_ms: round, bytes: 10 * round } }]);
  };
  const stop = new AbortController();
  await finishRounds({ ...common, stop: stop.signal }, async (round) => {
    if (round === 2) stop.abort();
    return measure(round);
  });
  expect(measured).toEqual([1, 2]);
  const cells = await finishRounds({ ...common, stop: new AbortController().signal }, measure);
  expect(measured).toEqual([1, 2, 3]);
  expect(cells).toEqual([
    { arm: 'one', at: { size: 1 }, quantity: 'time_ms', values: [1, 2, 3] },
    { arm: 'one', at: { size: 1 }, quantity: 'bytes', values: [10, 20, 30] },
  ]);
});

test('a round that fails is not kept', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-rounds-'));
  const context = {
    runs: 1,
    seed: 0,
    quick: false,
    directory,
    progress: () => undefined,
    stop: new AbortController().signal,
  };
  await expect(finishRounds(context, () => Promise.reject(new Error('a client failed')))).rejects.toThrow('a client');
  await expect(
    finishRounds(context, () => Promise.resolve([{ arm: 'one', at: {}, values: { time_ms: 1 } }])),
  ).resolves.toHaveLength(1);
});

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { finishRounds, type InTurn } from '../../../src/evidence/runners/rounds.js';

test('an interrupted run goes on with the round that it did not finish', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-rounds-'));
  const common = { runs: 3, seed: 0, quick: true, directory, progress: () => undefined };
  const measured: number[] = [];
  const measure = (_: InTurn, round: number) => {
    measured.push(round);
    return Promise.resolve([{ arm: 'one', at: { size: 1 }, values: { time_ms: round, bytes: 10 * round } }]);
  };
  const stop = new AbortController();
  await finishRounds({ ...common, stop: stop.signal }, {}, async (inTurn, round) => {
    if (round === 2) stop.abort();
    return measure(inTurn, round);
  });
  expect(measured).toEqual([1, 2]);
  const finished = await finishRounds({ ...common, stop: new AbortController().signal }, {}, measure);
  expect(measured).toEqual([1, 2, 3]);
  expect(finished.cells).toEqual([
    { arm: 'one', at: { size: 1 }, quantity: 'time_ms', values: [1, 2, 3] },
    { arm: 'one', at: { size: 1 }, quantity: 'bytes', values: [10, 20, 30] },
  ]);
});

test('a round that fails is not kept', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-rounds-'));
  const context = {
    runs: 1,
    seed: 0,
    quick: true,
    directory,
    progress: () => undefined,
    stop: new AbortController().signal,
  };
  await expect(finishRounds(context, {}, () => Promise.reject(new Error('a client failed')))).rejects.toThrow(
    'a client',
  );
  await expect(
    finishRounds(context, {}, () => Promise.resolve([{ arm: 'one', at: {}, values: { time_ms: 1 } }])),
  ).resolves.toMatchObject({ cells: [{ arm: 'one' }] });
});

/** A run with a directory of its own */
const someContext = async (more: { runs: number; seed?: number }) => ({
  seed: 0,
  quick: true,
  directory: await mkdtemp(join(tmpdir(), 'sheaf-rounds-')),
  progress: () => undefined,
  stop: new AbortController().signal,
  ...more,
});

const arms = ['one', 'two', 'three', 'four'];

/** Returns the orders in which the rounds take the arms. */
async function orders(seed: number): Promise<string[][]> {
  const taken: string[][] = [];
  await finishRounds(await someContext({ runs: 4, seed }), {}, (inTurn) => {
    taken.push(inTurn(arms));
    return Promise.resolve([]);
  });
  return taken;
}

test('each round takes all arms in an order of its own, and the seed repeats the orders', async () => {
  const taken = await orders(7);
  for (const order of taken) expect([...order].sort()).toEqual([...arms].sort());
  expect(new Set(taken.map((order) => order.join())).size).toBeGreaterThan(1);
  expect(await orders(7)).toEqual(taken);
  expect(await orders(8)).not.toEqual(taken);
});

test('the result says how busy the machine was before its rounds', async () => {
  const { before_rounds } = await finishRounds(await someContext({ runs: 2 }), {}, () => Promise.resolve([]));
  for (const { median, largest } of [before_rounds!.load, before_rounds!.busy]) {
    expect(median).toBeGreaterThanOrEqual(0);
    expect(largest).toBeGreaterThanOrEqual(median);
  }
});

test('rounds of other versions are not mixed, and the error names the option that begins anew', async () => {
  const context = await someContext({ runs: 1 });
  await finishRounds(context, { nginx: '1.22' }, () => Promise.resolve([]));
  await expect(finishRounds(context, { nginx: '1.28' }, () => Promise.resolve([]))).rejects.toMatchObject({
    message: expect.stringContaining('compared programs have other versions now') as string,
    hint: expect.stringContaining('--again') as string,
  });
  await expect(finishRounds(context, { nginx: '1.22' }, () => Promise.resolve([]))).resolves.toMatchObject({
    versions: { nginx: '1.22' },
  });
});

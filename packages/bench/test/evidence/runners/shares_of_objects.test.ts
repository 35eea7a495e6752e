import { expect, test } from 'vitest';
import { cellsOfShares } from '../../../src/evidence/runners/shares_of_objects.js';
import type { Run } from '../../../src/pages/simulation/run_record.js';

/** A run whose clients have these times of completion. */
const runWith = (...clients: number[][]): Run => ({
  seed: 1,
  digest: '',
  rates_mbps: [],
  clients: clients.map((done) => ({
    plt_ms: Math.max(...done),
    byte_index_ms: 0,
    first_ms: done,
    done_ms: done,
    paths: [],
  })),
});

const place = { arm: 'rr', at: { page: 'youtube' } };

test('each share has a cell with the times of all runs, whatever the order of the objects', () => {
  const runs = [runWith([30, 10, 50, 20, 40]), runWith([1, 3, 5, 4, 2])];
  expect(cellsOfShares(place, runs, [25, 50, 100])).toEqual([
    { arm: 'rr', at: { page: 'youtube', share: 25 }, quantity: 'share_ms', values: [20, 2] },
    { arm: 'rr', at: { page: 'youtube', share: 50 }, quantity: 'share_ms', values: [30, 3] },
    { arm: 'rr', at: { page: 'youtube', share: 100 }, quantity: 'share_ms', values: [50, 5] },
  ]);
});

test('a run with several clients has the mean of their times, and keeps its own', () => {
  const run = runWith([10, 30, 20], [60, 40, 50]);
  expect(cellsOfShares(place, [run], [50]).map(({ values }) => values)).toEqual([[35]]);
  expect(run.clients[0]!.done_ms).toEqual([10, 30, 20]);
});

test('without shares, a run keeps nothing more', () => {
  expect(cellsOfShares(place, [runWith([10])], [])).toEqual([]);
});

import { beforeAll, expect, test } from 'vitest';
import {
  buildTrees,
  shareWithin,
  simulateTrees,
  unicastShare,
  type TreeRun,
  type TreeSetting,
} from '../../src/multicast/simulated_trees.js';
import { building } from '../support/building.js';

let program = '';
beforeAll(async () => {
  program = await buildTrees(() => undefined);
}, building.timeout);

const plain: TreeSetting = {
  receivers: 2,
  branches: 2,
  lossy_receivers: 2,
  mbps: 0.5,
  frame_ms: 33,
  seconds: 3,
  loss: { root: 0, branch: 0, leaf: 0, unicast: 0 },
  report_ms: 20,
  deadline_ms: 350,
  repairs: true,
  signed: false,
  unicast: false,
  first_branch_only: false,
  buffers_ms: [100],
  budget_mbps: 100,
  uplink_mbps: 0,
  rate_factor: 1.5,
  cuts: [],
};

async function run(setting: Partial<TreeSetting>): Promise<TreeRun> {
  const [only] = await simulateTrees(program, { ...plain, ...setting }, { runs: 1, seed: 1 });
  return only!;
}

test('on a narrow uplink a second receiver halves the goodput of unicast, and leaves that of a channel', async () => {
  const completed = async (receivers: number, unicast: boolean): Promise<number> => {
    const setting = { receivers, unicast, mbps: 9.5, uplink_mbps: 10, budget_mbps: 10, frame_ms: 10 };
    return (await run({ ...setting, repairs: false })).completed / receivers;
  };
  const alone = await completed(1, true);
  expect(alone).toBeGreaterThan(290);
  expect(await completed(2, true)).toBeLessThan(0.6 * alone);
  expect(await completed(1, false)).toBeGreaterThan(0.99 * alone);
  expect(await completed(2, false)).toBeGreaterThan(0.99 * alone);
});

test('a receiver that the group does not reach for a while has every frame, by unicast', async () => {
  const cuts = [{ part: 1, at_ms: 1000, for_ms: 1000 }];
  const moved = await run({ cuts, buffers_ms: [10, 350] });
  expect(shareWithin(moved, 1)).toBe(1);
  expect(shareWithin(moved, 0)).toBeLessThan(1);
  expect(unicastShare(moved)).toBeGreaterThan(0.1);
  expect(moved.lateness_max_ms).toBeGreaterThan(20);
  expect(unicastShare(await run({}))).toBe(0);
});

test('lateness counts from the earliest frame of a receiver, and a longer buffer has more frames', async () => {
  const none = await run({});
  expect(none).toMatchObject({ lateness_mean_ms: 0, lateness_max_ms: 0, completed: none.due });
  const lossy = await run({
    receivers: 10,
    lossy_receivers: 10,
    loss: { ...plain.loss, leaf: 0.05 },
    buffers_ms: [15, 100, 350],
  });
  expect(lossy.lateness_p50_ms).toBe(0);
  expect(lossy.lateness_p95_ms).toBeGreaterThan(0);
  expect(lossy.lateness_p99_ms).toBeGreaterThanOrEqual(lossy.lateness_p95_ms);
  expect(lossy.lateness_max_ms).toBeLessThan(350);
  const [soon = 0, later = 0, last = 0] = lossy.on_time;
  expect(soon).toBeLessThan(later);
  expect(later).toBeLessThanOrEqual(last);
  expect(last).toBe(lossy.due);
});

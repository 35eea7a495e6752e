import { expect, it } from 'vitest';
import type { DemoTree } from '../src/page/broadcast/demo_tree.js';
import { Reception } from '../src/page/broadcast/reception.js';
import { TreeHistory } from '../src/page/broadcast/tree_history.js';

function report(counts: Partial<NonNullable<DemoTree['edge']>>, cut = false): DemoTree {
  const none = { fromGroup: 0, fromUnicast: 0, recovered: 0, lost: 0, expired: 0, viewers: 1 };
  return { studio: '', watch: '', tree: { cut, loss: 0 }, edge: { state: 'receiving', ...none, ...counts } };
}

it('counts frames of groups that did not come, or not to their ends', () => {
  const reception = new Reception();
  reception.groupEnd(7, 20, true);
  expect(reception.lost).toBe(0);
  reception.groupEnd(9, 20, true);
  expect(reception.lost).toBe(20);
  reception.groupEnd(10, 4, false);
  expect(reception.lost).toBe(36);
  // One that ended behind its last frame has lost what nobody knows: a frame at least.
  reception.groupEnd(11, 20, false);
  expect(reception.lost).toBe(37);
  expect([...reception.groups]).toEqual([
    [7, 20],
    [9, 20],
  ]);
});

it('forgets the groups of a broadcast that begins anew', () => {
  const reception = new Reception();
  reception.groupEnd(7, 20, true);
  reception.restart();
  reception.groupEnd(0, 20, true);
  expect([reception.lost, [...reception.groups]]).toEqual([0, [[0, 20]]]);
});

it('turns counts of an edge into packets, and into rates over a second', () => {
  const history = new TreeHistory();
  expect(history.since().all).toBe(0);
  for (let step = 0; step <= 8; step += 1) {
    const cut = step > 4;
    const fromGroup = 100 + 30 * Math.min(step, 4);
    const fromUnicast = 10 * Math.max(0, step - 4);
    history.add(report({ fromGroup, fromUnicast, recovered: step, lost: 2 * step }, cut), 1_000 + 250 * step);
  }
  expect(history.since()).toEqual({ group: 120, repairs: 8, copies: 40, all: 168, lost: 16, expired: 0 });
  expect(history.since(500)).toEqual({ group: 0, repairs: 2, copies: 20, all: 22, lost: 4, expired: 0 });
  const rates = history.rates();
  expect(rates.map(({ at }) => at)).toEqual([2_000, 2_250, 2_500, 2_750, 3_000]);
  expect(rates[0]).toMatchObject({ group: 120, repairs: 4, copies: 0, cut: false });
  expect(rates.at(-1)).toMatchObject({ group: 0, repairs: 4, copies: 40, cut: true });
  expect(history.cuts()).toEqual([{ from: 2_250, to: 3_000 }]);
});

it('keeps a minute, and begins again with an edge that was restarted', () => {
  const history = new TreeHistory();
  for (let second = 0; second <= 100; second += 1) history.add(report({ fromGroup: second }), 1_000 * second);
  expect(history.rates().map(({ at }) => at)).toEqual(Array.from({ length: 60 }, (_, index) => 1_000 * (41 + index)));
  history.add(report({ fromGroup: 3 }), 101_000);
  expect([history.rates(), history.since().group]).toEqual([[], 0]);
  history.add({ ...report({}), edge: undefined } as unknown as DemoTree, 102_000);
  expect(history.since().all).toBe(0);
});

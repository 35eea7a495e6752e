import { expect, test } from 'vitest';
import { TunnelHistory } from '../src/page/tunnels/tunnel_history.js';
import type { TunnelReport } from '../src/protocol/index.js';

const report = (more: Partial<TunnelReport>): TunnelReport => ({
  node: 'laptop',
  role: 'tunnel',
  state: 'serving',
  openUdp: 0,
  openTcp: 0,
  bytesToTarget: 0,
  bytesToClient: 0,
  waitingBytes: 0,
  drops: {},
  refused: {},
  paths: [],
  ...more,
});

test('the history of tunnels turns counters into rates, and begins anew with them', () => {
  const history = new TunnelHistory();
  history.add(report({ bytesToTarget: 1_000, drops: { queueFull: 3 } }), 0);
  history.add(
    report({ bytesToTarget: 126_000, bytesToClient: 250_000, waitingBytes: 2_048, drops: { queueFull: 5 } }),
    1_000,
  );
  const sample = { at: 1_000, toTarget: 1, toClient: 2, waiting: 2, lost: 2 };
  expect(history.samples).toEqual([sample]);
  // The node was started again.
  history.add(report({ bytesToTarget: 5 }), 2_000);
  expect(history.samples).toEqual([sample]);
  history.add(report({ bytesToTarget: 5 }), 61_500);
  expect(history.samples).toEqual([{ at: 61_500, toTarget: 0, toClient: 0, waiting: 0, lost: 0 }]);
});

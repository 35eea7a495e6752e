import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// Its compiled form: it starts programs of its own, which lie beside it.
import { runnerNamed } from '@sheaf/bench';
import { expect, test } from 'vitest';
import { someArtefact } from '../some_artefact.js';

const { setup } = someArtefact((file) => {
  file['setup'] = {
    runner: 'direct-return-delays',
    network: 'loopback',
    options: { background: [0, 0.3], backends: 2, rate: 50, seconds: 0.5 },
    runs: { quick: 1, full: 1 },
    seeds: { held_out: 0 },
    baseline: 'proxy',
    arms: {
      proxy: { settings: { delivery: 'proxy' } },
      return: { settings: { delivery: 'return' }, differs: ['delivery', 'client.path'] },
    },
  };
});

test('one-way delays are measured with and without background load', { timeout: 300_000 }, async () => {
  const { cells } = await runnerNamed('direct-return-delays').run(setup, {
    runs: 1,
    seed: 0,
    // Does not wait for a quiet machine.
    quick: true,
    directory: await mkdtemp(join(tmpdir(), 'sheaf-delays-')),
    progress: () => undefined,
    stop: new AbortController().signal,
  });
  const value = (arm: string, background: number, quantity: string): number =>
    cells.find((cell) => cell.arm === arm && cell.at['background'] === background && cell.quantity === quantity)
      ?.values[0] ?? Number.NaN;
  for (const arm of ['proxy', 'return'])
    for (const background of [0, 0.3]) {
      const [up, down] = [value(arm, background, 'up_ms'), value(arm, background, 'down_ms')];
      expect(up).toBeGreaterThan(0);
      expect(down).toBeGreaterThan(0);
      expect(value(arm, background, 'round_trip_ms')).toBeGreaterThanOrEqual(Math.max(up, down));
      // While a backend does not run, the gateway proxies what it was to return.
      if (arm === 'return') expect(value(arm, background, 'returned_share')).toBeGreaterThan(0);
      else expect(value(arm, background, 'returned_share')).toBe(0);
    }
  expect(value('proxy', 0, 'background_per_s')).toBe(0);
  expect(value('proxy', 0.3, 'background_per_s')).toBeGreaterThan(0);
});

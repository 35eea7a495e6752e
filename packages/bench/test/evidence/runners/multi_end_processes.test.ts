import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// Its compiled form: it starts programs of its own, which lie beside it.
import { runnerNamed } from '@sheaf/bench';
import { expect, test, vi } from 'vitest';
import { someArtefact } from '../some_artefact.js';

const { setup } = someArtefact((file) => {
  file['setup'] = {
    runner: 'multi-end-processes',
    network: 'loopback',
    // Goes on for hours unless it is stopped.
    options: { clients: 2, requests: 100_000, bytes: 1_000_000, backends: 2 },
    runs: { quick: 1, full: 1 },
    seeds: { held_out: 0 },
    baseline: 'proxy',
    arms: { proxy: { settings: { delivery: 'proxy', protocol: 'h3' } } },
  };
});

/** Returns the processes that this one started, and that these started. */
async function descendants(): Promise<number[]> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const parents = new Map<number, number>();
  for (const name of processes) {
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state !== undefined && state !== '' && state !== 'Z') parents.set(Number(name), Number(parent));
  }
  const found = [process.pid];
  for (const ancestor of found) for (const [child, parent] of parents) if (parent === ancestor) found.push(child);
  return found.slice(1);
}

test('a run that is stopped in the middle leaves no process behind', { timeout: 300_000 }, async () => {
  const before = await descendants();
  const stop = new AbortController();
  const run = runnerNamed('multi-end-processes').run(setup, {
    runs: 1,
    seed: 0,
    quick: true,
    directory: await mkdtemp(join(tmpdir(), 'sheaf-evidence-')),
    progress: () => undefined,
    stop: stop.signal,
  });
  const started: number[] = [];
  // A primary, two backends, the server behind them, and two clients
  const all = vi.waitFor(
    async () => {
      started.splice(0, started.length, ...(await descendants()).filter((id) => !before.includes(id)));
      expect(started.length).toBeGreaterThanOrEqual(6);
    },
    { timeout: 200_000, interval: 100 },
  );
  // Ends early, with the reason, where one of them does not start.
  await Promise.race([all, run]).finally(() => stop.abort());
  await expect(run).rejects.toMatchObject({ code: 'BENCH_FAILED' });
  const remaining = await descendants();
  expect(started.filter((id) => remaining.includes(id))).toEqual([]);
});

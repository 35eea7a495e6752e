import { expect, test } from 'vitest';
import { loadPatiently, type LoadedOnce } from '../../../src/pages/real/load_patiently.js';

const loaded = { seed: 1, lcp_ms: 100 } as LoadedOnce;

/** Returns a load that fails as often as told. */
function failing(times: number): () => Promise<LoadedOnce> {
  let left = times;
  return () => (left-- > 0 ? Promise.reject(new Error(`failure ${left}`)) : Promise.resolve(loaded));
}

const context = (lines: string[] = []): Parameters<typeof loadPatiently>[1] => ({
  name: 'news with rr',
  hint: 'the same command goes on',
  progress: (line) => lines.push(line),
});

test('a load keeps why it was repeated', async () => {
  const lines: string[] = [];
  expect(await loadPatiently(failing(0), context())).toEqual({ ...loaded, repeats: [] });
  expect(await loadPatiently(failing(2), context(lines))).toEqual({ ...loaded, repeats: ['failure 1', 'failure 0'] });
  expect(lines).toEqual(['news with rr is loaded again: failure 1', 'news with rr is loaded again: failure 0']);
});

test('the third failure ends the experiment, with the hint of the command', async () => {
  await expect(loadPatiently(failing(3), context())).rejects.toMatchObject({
    code: 'BENCH_FAILED',
    message: 'news with rr could not be loaded: failure 0',
    hint: 'the same command goes on',
  });
});

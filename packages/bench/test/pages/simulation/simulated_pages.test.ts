import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { measureSimulatedPages, type MeasuredPages } from '../../../src/pages/simulation/simulated_pages.js';
import { runBench } from '../../../src/run_bench.js';

const world = () => ({ stdout: new PassThrough(), stderr: new PassThrough() });

describe('options', () => {
  test('virtual time or a browser has to be asked for', async () => {
    await expect(runBench('pages', {}, world())).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('--sim (virtual time) or --browser'),
    });
  });

  test('a name that does not exist is refused with those that do', async () => {
    await expect(runBench('pages', { sim: true, page: 'google,yahoo' }, world())).rejects.toMatchObject({
      code: 'USAGE',
      message: "--page: 'yahoo' is none of google, youtube, amazon, news, shop, application",
    });
  });
});

describe('a simulated cell', () => {
  const never = new AbortController().signal;
  const matrix = { pages: ['google'], trees: ['firefox'], levels: ['high'], schedulers: ['rfc9218'] } as const;
  let directory: string;

  const measure = (options: {
    seed?: number;
    clients?: number;
    stop?: AbortSignal;
    resume?: boolean;
    file?: string;
  }): Promise<MeasuredPages> => {
    const { seed = 11, clients = 1, stop = never, resume = false, file = 'runs.jsonl' } = options;
    return measureSimulatedPages(
      { matrix, parameters: { runs: 2, seed, clients }, file: join(directory, file), resume, stop },
      () => undefined,
    );
  };
  const digests = ({ runs }: MeasuredPages): string[] => [...runs.values()].flat().map(({ digest }) => digest);

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'sheaf-simulated-pages-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('replays byte for byte with its seed', async () => {
    // The first one builds the program.
    const first = await measure({});
    expect(digests(await measure({}))).toEqual(digests(first));
    expect(digests(await measure({ seed: 12 }))[0]).toBe(digests(first)[1]);
    const [cell] = first.cells;
    expect(cell?.plt_ms.mean).toBeGreaterThan(cell?.lower_bound_ms ?? Infinity);
    expect(cell?.lost_percent).toBeGreaterThan(0);
  }, 900_000);

  test('has a fairness index with several clients, who take longer', async () => {
    const [alone] = (await measure({})).cells;
    const [shared] = (await measure({ clients: 3 })).cells;
    expect(shared?.fairness).toBeGreaterThan(1 / 3);
    expect(shared?.fairness).toBeLessThanOrEqual(1);
    expect(shared?.plt_ms.mean).toBeGreaterThan(alone?.plt_ms.mean ?? Infinity);
  });

  test('that was not begun is missing, and there after going on', async () => {
    const stopped = new AbortController();
    stopped.abort();
    expect(await measure({ stop: stopped.signal, file: 'stopped.jsonl' })).toMatchObject({ missing: 1, cells: [] });
    expect(await measure({ resume: true, file: 'stopped.jsonl' })).toMatchObject({ missing: 0, cells: [{ runs: 2 }] });
  });
});

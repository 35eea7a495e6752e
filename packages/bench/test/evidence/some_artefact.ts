import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { artefactSchema, isRerunnable, type Rerunnable } from '../../src/evidence/artefact/artefact.js';
import type { Laboratory } from '../../src/evidence/laboratory.js';
import { ResultStore } from '../../src/evidence/results/result_store.js';
import type { Measured, Runner } from '../../src/evidence/runners/runner.js';

/** Two arms that differ in what they declare; the first claim says that `fast` takes at most half of the time. */
export function someArtefact(
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests change a file as a person would write it
  change: (file: Record<string, any>) => void = () => undefined,
): Rerunnable & { id: string } {
  const file = {
    title: 'Time by arm',
    paper: 'A paper',
    artefact: 'figure 1',
    shows: 'One is faster.',
    state: 'reruns',
    quantities: { time_ms: { name: 'Time', unit: 'ms', better: 'lower', statistic: 'median' } },
    published: [{ source: 'none' }],
    setup: {
      runner: 'fake',
      network: 'none',
      runs: { quick: 2, full: 6 },
      seeds: { held_out: 100 },
      baseline: 'slow',
      arms: {
        slow: { settings: { speed: 1, queue: 10 } },
        fast: { settings: { speed: 2, queue: 10 }, differs: ['speed'] },
      },
    },
    claims: [
      {
        text: 'fast takes at most half of the time',
        published: 'holds',
        predicates: [{ quantity: 'time_ms', of: 'fast', to: 'slow', at_most: 0.5, margin: 0.02 }],
      },
    ],
    plots: [{ title: 'Times', kind: 'bars', quantity: 'time_ms', arms: ['slow', 'fast'], x: 'page' }],
  };
  change(file);
  const parsed = artefactSchema.parse(file);
  if (!isRerunnable(parsed)) throw new RangeError('not rerunnable');
  return { ...parsed, id: 'paper/figure-1' };
}

/** Times of both arms on one page, a value for each run. */
export const times = (slow: number[], fast: number[], page = 'news') => [
  { arm: 'slow', at: { page }, quantity: 'time_ms', values: slow },
  { arm: 'fast', at: { page }, quantity: 'time_ms', values: fast },
];

/** A laboratory in a new directory, whose only runner measures what `run` says and depends on the file `program`. */
export async function someLaboratory(
  artefact: Rerunnable & { id: string },
  run: (context: Parameters<Runner['run']>[1]) => Partial<Measured> | Promise<Partial<Measured>>,
  more: readonly (Rerunnable & { id: string })[] = [],
): Promise<Laboratory & { program: string; calls: number }> {
  const root = await mkdtemp(join(tmpdir(), 'sheaf-evidence-'));
  await mkdir(join(root, 'source'));
  const program = join(root, 'source', 'program');
  await writeFile(program, 'first version');
  const laboratory = {
    root,
    program,
    calls: 0,
    catalogue: [artefact, ...more],
    scratch: join(root, 'scratch'),
    store: new ResultStore({ full: join(root, 'results'), quick: join(root, 'quick') }),
    checkBuilt: () => Promise.resolve(),
    runnerNamed: (): Runner => ({
      name: 'fake',
      realTime: false,
      seeded: true,
      sources: ['source'],
      settings: ({ arms }, arm) => arms[arm]?.settings ?? {},
      run: async (_setup, context) => {
        laboratory.calls += 1;
        return { cells: [], versions: {}, skipped: [], ...(await run(context)) };
      },
    }),
  };
  return laboratory;
}

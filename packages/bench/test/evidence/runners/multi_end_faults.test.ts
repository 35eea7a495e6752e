import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRerunnable } from '../../../src/evidence/artefact/artefact.js';
import { readCatalogue } from '../../../src/evidence/artefact/catalogue.js';
import { samplesOf } from '../../../src/evidence/runners/multi_end_faults.js';
import { finishRounds } from '../../../src/evidence/runners/rounds.js';
import { claimVerdicts } from '../../../src/evidence/verdict/verdict.js';
import { runToEnd } from '../../../src/process/run_program.js';

const found = (await readCatalogue()).find(({ id }) => id === 'own/backend-faults');
if (!found || !isRerunnable(found)) throw new RangeError('own/backend-faults does not rerun');
const artefact = found;
const { faults } = artefact.setup.options as { faults: string[] };
const arms = Object.entries(artefact.setup.arms).map(([arm, { settings }]) => ({
  arm,
  keys: String(settings['keys']),
}));

const whole = { failures: [] as string[], bytesLost: 0, longestStallMs: 450, statedMs: 500, keyUpdates: 20 };

/** Returns the rows of a run, those of one fault with these changes. */
const rowsWith = (change: object = {}): object[] =>
  arms.flatMap(({ keys }) =>
    faults.map((fault) => ({ fault, keys, ...whole, ...(fault === 'backend killed' && keys === 'shared' && change) })),
  );

/** Runs a program that prints rows among other lines, and fails after that if it is told to. */
const printing = (rows: readonly object[], code: number) =>
  runToEnd(
    process.execPath,
    ['-e', 'console.log(JSON.parse(process.argv[1]).join("\\n")); process.exitCode = Number(process.argv[2])'].concat(
      JSON.stringify(['stdout | a test', ...rows.map((row) => JSON.stringify(row)), ' x a test']),
      String(code),
    ),
  );

/** Returns the verdicts on the artefact's claims when the tests print these rows in the last of its runs. */
async function verdictsOf(last: readonly object[], code: number): Promise<Record<string, string>> {
  const runs = artefact.setup.runs.full;
  const { cells } = await finishRounds(
    {
      runs,
      seed: 0,
      quick: true,
      directory: await mkdtemp(join(tmpdir(), 'sheaf-faults-')),
      progress: () => undefined,
      stop: new AbortController().signal,
    },
    {},
    async (_, round) => samplesOf(await (round < runs ? printing(rowsWith(), 0) : printing(last, code)), arms, faults),
  );
  const result = {
    artefact: artefact.id,
    program: '',
    settings: '',
    quick: false,
    runs,
    commit: '',
    machine: { processor: '', cores: 2, memory_gib: 1, kernel: '', node: '', load: 0 },
    finished: '',
    seconds: 1,
    versions: {},
    skipped: [],
    cells,
  };
  return Object.fromEntries(claimVerdicts(artefact, result).map(({ text, verdict }) => [text, verdict]));
}

const missedWith = async (change: object): Promise<string[]> =>
  Object.entries(await verdictsOf(rowsWith(change), 1))
    .filter(([, verdict]) => verdict !== 'met')
    .map(([text, verdict]) => `${verdict}: ${text}`);

test('all claims are met when every fault passes', async () => {
  expect(new Set(Object.values(await verdictsOf(rowsWith(), 0)))).toEqual(new Set(['met']));
});

test('a fault that fails the tests makes its claim a missed one', async () => {
  expect(await missedWith({ failures: ['reset (ECONNRESET)'] })).toEqual(['missed: No request fails']);
  expect(await missedWith({ bytesLost: 1 })).toEqual(['missed: No byte is lost']);
  expect(await missedWith({ interrupted: 'timed out' })).toEqual([
    'missed: Downloads go on within 90 s of every fault',
  ]);
  expect(await missedWith({ keyUpdates: 0 })).toEqual(['missed: Keys are updated during every fault']);
});

test("a stall is judged by its own fault's bound", async () => {
  const [missed, ...others] = await missedWith({ longestStallMs: 501 });
  expect(missed).toMatch(/^missed: No download stalls/);
  expect(others).toEqual([]);
  expect(await missedWith({ longestStallMs: 501, statedMs: 4_000 })).toEqual([]);
});

test('a run without a row about a fault fails, with the reason of the tests', async () => {
  const rows = rowsWith().slice(1);
  expect(() => samplesOf({ output: '', failed: undefined }, arms, faults)).toThrow(`'${faults[0]}'`);
  const ended = await printing(rows, 1);
  expect(() => samplesOf(ended, arms, faults)).toThrow('ended with 1');
});

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { expect, test } from 'vitest';
import { listEvidence, reportEvidence, runEvidence, writeEvidenceDocuments } from '../../src/evidence/evidence.js';
import { someArtefact, someLaboratory, times } from './some_artefact.js';

const slow = [100, 102, 98, 101, 99, 100];
const half = [40, 41, 39, 40.5, 39.5, 40];

function output() {
  const lines: string[] = [];
  return { lines, print: (line: string) => void lines.push(line), progress: () => undefined };
}

const quick = { ids: [], quick: true, again: false, check: true };

test('a claim that holds is reproduced, and the result is kept with seeds and commit', async () => {
  const laboratory = await someLaboratory(someArtefact(), ({ runs, seed }) => {
    expect({ runs, seed }).toEqual({ runs: 6, seed: 100 });
    return { cells: times(slow, half) };
  });
  const out = output();
  await expect(runEvidence(laboratory, { ...quick, quick: false }, out)).resolves.toBe(0);
  expect(out.lines).toEqual([
    'paper/figure-1: measured, reproduced',
    '  reproduced: fast takes at most half of the time',
  ]);
  const result = await laboratory.store.read('paper/figure-1', { quick: false });
  expect(result).toMatchObject({ runs: 6, seed: 100, quick: false, cells: times(slow, half) });
});

test('a result of runs that draw from no seed has none', async () => {
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, half) }));
  const seedless = {
    ...laboratory,
    runnerNamed: (name: string) => ({ ...laboratory.runnerNamed(name), seeded: false }),
  };
  await runEvidence(seedless, quick, output());
  expect(await laboratory.store.read('paper/figure-1', { quick: true })).not.toHaveProperty('seed');
});

test('a claim that fails is contradicted, and --check ends with code 5', async () => {
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, slow) }));
  const out = output();
  await expect(runEvidence(laboratory, quick, out)).rejects.toMatchObject({ code: 'BENCH_FAILED', exitCode: 5 });
  expect(out.lines).toContain('  contradicted: fast takes at most half of the time');
  await expect(runEvidence(laboratory, { ...quick, check: false }, output())).resolves.toBe(0);
});

test('a claim about an arm that was not measured stays open, and --check ends with code 5 and says so', async () => {
  const [slowAlone] = times(slow, half);
  const laboratory = await someLaboratory(someArtefact(), () => ({
    cells: [slowAlone!],
    skipped: ['fast: its compiler is not installed'],
  }));
  const out = output();
  await expect(runEvidence(laboratory, quick, out)).rejects.toMatchObject({
    exitCode: 5,
    message: 'claims are open, because arms were not measured: paper/figure-1 (fast)',
  });
  expect(out.lines).toEqual([
    'paper/figure-1: measured, cannot be told',
    '  cannot be told: fast takes at most half of the time – not measured: fast',
    '  not measured: fast: its compiler is not installed',
  ]);
  await expect(runEvidence(laboratory, { ...quick, check: false }, output())).resolves.toBe(0);
});

test('a claim that chance leaves open does not fail --check', async () => {
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, [30, 90, 20, 80, 50, 60]) }));
  await expect(runEvidence(laboratory, quick, output())).resolves.toBe(0);
});

test('the list fits into 80 columns, with the papers, what is known of each artefact, and a count', async () => {
  const long = {
    ...someArtefact(),
    id: 'paper/figure-2',
    title: 'A title that is much too long for a line '.repeat(3),
  };
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, half) }), [long]);
  await runEvidence(laboratory, { ...quick, ids: ['paper/figure-1'] }, output());
  await writeFile(laboratory.program, 'second version');
  const out = output();
  await listEvidence(laboratory, { json: false }, out);
  expect(Math.max(...out.lines.map((line) => line.length))).toBe(80);
  expect(out.lines[0]).toBe('A paper');
  expect(out.lines[1]).toBe('  paper/figure-1  reproduced, quick, stale  Time by arm');
  expect(out.lines[2]).toMatch(/^ {2}paper\/figure-2 {2}not measured {14}A title that is .*…$/);
  expect(out.lines.at(-1)).toBe('2 artefacts, 2 can be run, 1 measured, 1 older than the code');
});

test('an arm that differs in a hidden setting is refused before anything is measured', async () => {
  const artefact = someArtefact((file) => (file['setup'].arms.fast.settings.queue = 99));
  const laboratory = await someLaboratory(artefact, () => ({ cells: times(slow, half) }));
  await expect(runEvidence(laboratory, quick, output())).rejects.toThrow('queue (99 instead of 10)');
  expect(laboratory.calls).toBe(0);
});

test('an artefact that cannot be measured here is skipped with its reason, and the others are measured', async () => {
  let calls = 0;
  const laboratory = await someLaboratory(
    someArtefact(),
    () => {
      calls += 1;
      if (calls === 1) throw new UserError('BENCH_UNAVAILABLE', 'the client needs h2load', { hint: 'run: install it' });
      return { cells: times(slow, half) };
    },
    [{ ...someArtefact(), id: 'paper/figure-2' }],
  );
  const out = output();
  await expect(runEvidence(laboratory, { ...quick, check: false }, out)).rejects.toMatchObject({
    exitCode: 5,
    message: 'skipped: paper/figure-1',
  });
  expect(out.lines.slice(0, 2)).toEqual([
    'paper/figure-1: skipped: the client needs h2load (run: install it)',
    'paper/figure-2: measured, reproduced',
  ]);
});

test('artefacts that show the same runs share one measurement, unless it has to be made again', async () => {
  const second = { ...someArtefact(), id: 'paper/figure-2' };
  const other = { ...someArtefact((file) => (file['setup'].runs.quick = 3)), id: 'paper/figure-3' };
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, half) }), [second, other]);
  const out = output();
  await runEvidence(laboratory, quick, out);
  expect(laboratory.calls).toBe(2);
  expect(out.lines).toContain('paper/figure-2: measured already, reproduced');
  const [first, shared] = await Promise.all(
    ['paper/figure-1', 'paper/figure-2'].map(async (id) => laboratory.store.read(id, { quick: true })),
  );
  expect(shared).toEqual({ ...first, artefact: 'paper/figure-2' });
  await runEvidence(laboratory, { ...quick, again: true }, output());
  expect(laboratory.calls).toBe(5);
});

test('an error of the program itself ends the run', async () => {
  const laboratory = await someLaboratory(someArtefact(), () => {
    throw new RangeError('a mistake');
  });
  await expect(runEvidence(laboratory, quick, output())).rejects.toThrow('a mistake');
});

test('a result stays while its program stays, and is stale once the program has changed', async () => {
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, half) }));
  await runEvidence(laboratory, quick, output());
  await runEvidence(laboratory, quick, output());
  expect(laboratory.calls).toBe(1);
  const stale = async (): Promise<unknown> => {
    const out = output();
    await listEvidence(laboratory, { json: true }, out);
    return JSON.parse(out.lines.join(''))[0];
  };
  expect(await stale()).toMatchObject({ verdict: 'reproduced', stale: false, quick: true });
  await writeFile(laboratory.program, 'second version');
  expect(await stale()).toMatchObject({ verdict: 'reproduced', stale: true });
  const page = await reportEvidence(laboratory, output());
  expect(await readFile(page, 'utf8')).toContain('<span class="chip stale">stale</span>');
  await runEvidence(laboratory, quick, output());
  expect(laboratory.calls).toBe(2);
  expect(await stale()).toMatchObject({ stale: false });
});

test('documents --check fails when a result was measured with other settings', async () => {
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, half) }));
  await mkdir(join(laboratory.root, 'docs'));
  await writeFile(join(laboratory.root, 'README.md'), '# Title\n');
  await runEvidence(laboratory, { ...quick, quick: false }, output());
  await expect(writeEvidenceDocuments(laboratory, { check: true }, output())).resolves.toBe(0);
  const changed = { ...laboratory, catalogue: [someArtefact((file) => (file['setup'].network = 'another one'))] };
  await expect(writeEvidenceDocuments(changed, { check: true }, output())).rejects.toMatchObject({
    message: 'results were measured with other settings: paper/figure-1',
    hint: 'run `sheaf evidence run paper/figure-1`',
  });
});

test('a run that is measured again drops the parts of earlier ones, and others keep them', async () => {
  const parts: string[][] = [];
  const stop = new UserError('BENCH_FAILED', 'a client failed');
  const laboratory = await someLaboratory(someArtefact(), async ({ directory }) => {
    parts.push(await readdir(directory).catch(() => []));
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'part'), '');
    throw stop;
  });
  const run = (again: boolean) => runEvidence(laboratory, { ...quick, again }, output()).catch(() => undefined);
  await run(false);
  await run(false);
  await run(true);
  expect(parts).toEqual([[], ['part', 'sessions.jsonl'], []]);
});

test('a repetition that was interrupted goes on, although there is a result', async () => {
  const parts: string[][] = [];
  let fails = false;
  const laboratory = await someLaboratory(someArtefact(), async ({ directory }) => {
    parts.push(await readdir(directory).catch(() => []));
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'part'), '');
    if (fails) throw new UserError('BENCH_FAILED', 'a client failed');
    return { cells: times(slow, half) };
  });
  const run = (again: boolean) => runEvidence(laboratory, { ...quick, check: false, again }, output());
  await run(false);
  fails = true;
  await expect(run(true)).rejects.toThrow('skipped: paper/figure-1');
  fails = false;
  await run(false);
  await run(false);
  expect(parts).toEqual([[], [], ['part', 'sessions.jsonl']]);
});

test('the report loads nothing, and shows verdict, figures, intervals and "not published"', async () => {
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells: times(slow, half) }));
  await runEvidence(laboratory, { ...quick, quick: false }, output());
  const page = await readFile(await reportEvidence(laboratory, output()), 'utf8');
  expect(page).not.toMatch(/<(?:script|link|img|iframe)\b|url\((?!#)|@import/i);
  expect(page).toContain('<span class="chip reproduced">reproduced</span>');
  expect(page).toContain('not published');
  expect(page).toContain('0.4 (');
  expect(page).toContain('6 runs, seeds 100 to 105');
  expect(page).toContain('<svg');
});

test('the first lines of the report name the claims that do not hold, with the places', async () => {
  const cells = [...times(slow, half), ...times(slow, slow, 'shop')];
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells }));
  await runEvidence(laboratory, { ...quick, check: false, quick: false }, output());
  const page = await readFile(await reportEvidence(laboratory, output()), 'utf8');
  const first = page.slice(0, page.indexOf('<section>'));
  expect(first).toContain('1 claim: 0 reproduced from the papers, 0 of our own met, 1 contradicted, 0 missed.');
  expect(first).toContain('<h2>These claims do not hold</h2>');
  expect(first).toContain('<a href="#paper/figure-1">fast takes at most half of the time</a>');
  expect(first).toContain('fast to slow, shop: 1 (1 to 1)');
  expect(first).not.toContain('fast to slow, news');
});

const leadOf = async (laboratory: Parameters<typeof reportEvidence>[0]): Promise<string> => {
  const page = await readFile(await reportEvidence(laboratory, output()), 'utf8');
  return page.slice(0, page.indexOf('<section>'));
};

test('the first lines of the report do not call what was not measured a success', async () => {
  const first = await leadOf(await someLaboratory(someArtefact(), () => ({ cells: [] })));
  expect(first).toContain('1 artefact is not measured yet.');
  expect(first).not.toContain('refuted');
});

test('the first lines of the report name what cannot be told, with the places beyond the bound', async () => {
  const uncertain = [45, 65, 40, 60, 43, 58];
  const cells = [...times(slow, half), ...times(slow, uncertain, 'shop')];
  const laboratory = await someLaboratory(someArtefact(), () => ({ cells }));
  await runEvidence(laboratory, { ...quick, quick: false }, output());
  const first = await leadOf(laboratory);
  expect(first).toContain('1 open. No measured claim is refuted.');
  expect(first).toContain('fast to slow, shop: 0.51');
  expect(first).not.toContain('fast to slow, news');
});

import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRerunnable } from '../../../src/evidence/artefact/artefact.js';
import { chooseArtefacts, readCatalogue } from '../../../src/evidence/artefact/catalogue.js';
import { runnerNamed } from '../../../src/evidence/runners/index.js';
import { checkArms } from '../../../src/evidence/run_artefact.js';

const catalogue = await readCatalogue();

test('all 38 artefacts of the five papers are there', () => {
  const counts = new Map<string, number>();
  for (const { id } of catalogue) {
    const folder = id.slice(0, id.indexOf('/'));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect(Object.fromEntries(counts)).toEqual({
    'direct-server-return': 7,
    'multi-end': 3,
    multicast: 15,
    own: expect.any(Number) as number,
    'page-loads': 2,
    tunnels: 11,
  });
  expect(catalogue.filter(isOfPaper)).toHaveLength(38);
});

/** Artefacts of papers, without our own measurements */
function isOfPaper({ id }: { id: string }): boolean {
  return !id.startsWith('own/');
}

const rerunnable = catalogue.filter(isRerunnable);

test.each(rerunnable.map(({ id }, index) => [id, rerunnable[index]!] as const))(
  '%s: arms differ in what they declare, and claims, plots and published values name arms and quantities that exist',
  (_id, artefact) => {
    checkArms(artefact, runnerNamed(artefact.setup.runner));
    const arms = Object.keys(artefact.setup.arms);
    const quantities = Object.keys(artefact.quantities);
    for (const { predicates } of artefact.claims) {
      for (const { of, to, quantity } of predicates) {
        for (const arm of [of].flat()) expect(arms).toContain(arm);
        if (to !== undefined) expect(arms).toContain(to);
        expect(quantities).toContain(quantity);
      }
    }
    for (const plot of artefact.plots) {
      expect(quantities).toContain(plot.quantity);
      for (const arm of plot.arms) expect(arms).toContain(arm);
    }
    for (const table of artefact.tables) {
      for (const quantity of table.quantities) expect(quantities).toContain(quantity);
      for (const arm of table.arms ?? []) expect(arms).toContain(arm);
    }
    for (const source of artefact.published) {
      for (const value of 'values' in source ? source.values : []) {
        expect(arms).toContain(value.arm);
        expect(quantities).toContain(value.quantity);
      }
    }
  },
);

test('a folder stands for its artefacts, and an unknown name is refused with the nearest', () => {
  expect(chooseArtefacts(catalogue, ['multi-end']).map(({ id }) => id)).toEqual([
    'multi-end/figure-3a',
    'multi-end/figure-3b',
    'multi-end/processor-time',
  ]);
  expect(() => chooseArtefacts(catalogue, ['multi-end/figure-3'])).toThrow("there is no artefact 'multi-end/figure-3'");
  expect(chooseArtefacts(catalogue, []).filter(isOfPaper)).toHaveLength(38);
});

test('a file that is not understood is named with the place', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-catalogue-'));
  await mkdir(join(directory, 'paper'));
  await writeFile(join(directory, 'paper', 'figure-1.yaml'), 'title: A title\nstate: not built\n');
  await expect(readCatalogue(directory)).rejects.toThrow(/figure-1\.yaml: paper/);
});

test('the example of the guide for researchers is an artefact that can be run', async () => {
  const guide = await readFile(join(import.meta.dirname, '../../../../../docs/guide/experiments.md'), 'utf8');
  const example = /^```yaml\n([\s\S]*?)^```$/m.exec(guide)?.[1] ?? '';
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-catalogue-'));
  await writeFile(join(directory, 'example.yaml'), example);
  const [artefact] = (await readCatalogue(directory)).filter(isRerunnable);
  expect(() => checkArms(artefact!, runnerNamed(artefact!.setup.runner))).not.toThrow();
});

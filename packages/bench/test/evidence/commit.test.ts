import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { expect, test } from 'vitest';
import { runArtefact } from '../../src/evidence/run_artefact.js';
import { someArtefact, someLaboratory, times } from './some_artefact.js';

const documents = ['packages/bench/results/old.json', 'README.md', 'docs/glossary.md'];

/** Makes a repository with one commit of a program, a result and documents. Returns the commit's name. */
async function makeRepository(root: string): Promise<string> {
  const git = (...words: string[]): string => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  await writeDocuments(root, 'first version');
  git('init', '--quiet');
  git('add', '--all');
  git(
    '-c',
    'commit.gpgsign=false',
    '-c',
    'user.name=Test',
    '-c',
    'user.email=test@example.org',
    'commit',
    '--quiet',
    '--message',
    'first',
  );
  return git('rev-parse', '--short=12', 'HEAD');
}

async function writeDocuments(root: string, text: string): Promise<void> {
  for (const path of documents) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

const options = { quick: false, again: true, progress: () => undefined, stop: new AbortController().signal };

/** A laboratory in a repository, whose runner calls `meanwhile` while it measures */
async function someRepository(meanwhile: () => Promise<void> = () => Promise.resolve()) {
  const artefact = someArtefact();
  const laboratory = await someLaboratory(artefact, async () => {
    await meanwhile();
    return { cells: times([1, 2], [1, 2]) };
  });
  const commit = await makeRepository(laboratory.root);
  const measure = (more: Partial<typeof options> = {}) => runArtefact(artefact, laboratory, { ...options, ...more });
  const stored = (quick: boolean) => laboratory.store.read(artefact.id, { quick });
  return { laboratory, commit, measure, stored };
}

test('a full result names its commit, which results and documents do not change', async () => {
  const { laboratory, commit, measure, stored } = await someRepository();
  // Earlier artefacts of the same command have written results.
  await writeDocuments(laboratory.root, 'second version');
  await expect(measure()).resolves.toBe('measured');
  expect((await stored(false))?.commit).toBe(commit);
});

test('sources that differ from the commit are measured quickly at most', async () => {
  const { laboratory, commit, measure, stored } = await someRepository();
  await writeFile(laboratory.program, 'second version');
  await expect(measure()).rejects.toMatchObject({ message: `the sources differ from commit ${commit}` });
  expect(laboratory.calls).toBe(0);
  await measure({ quick: true });
  expect((await stored(true))?.commit).toBe(`${commit} with changes`);
});

test.each([false, true])('no result is stored when the sources change meanwhile (quick: %s)', async (quick) => {
  const { laboratory, measure, stored } = await someRepository(() => writeFile(laboratory.program, 'second version'));
  await expect(measure({ quick })).rejects.toThrow('the sources changed while they were measured');
  expect(await stored(quick)).toBeUndefined();
});

test('nothing is measured when what would run is not built from the sources', async () => {
  const { laboratory, measure } = await someRepository();
  laboratory.checkBuilt = () => Promise.reject(new UserError('BENCH_FAILED', 'not built: TypeScript'));
  await expect(measure({ quick: true })).rejects.toThrow('not built: TypeScript');
  expect(laboratory.calls).toBe(0);
});

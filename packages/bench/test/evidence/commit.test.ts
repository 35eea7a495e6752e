import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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

test('a result names the commit that was measured, and says so when the sources differ from it', async () => {
  const artefact = someArtefact();
  let whileMeasuring = (): Promise<void> => Promise.resolve();
  const laboratory = await someLaboratory(artefact, async () => {
    await whileMeasuring();
    return { cells: times([1, 2], [1, 2]) };
  });
  const commit = await makeRepository(laboratory.root);
  const measuredCommit = async (): Promise<string | undefined> => {
    await runArtefact(artefact, laboratory, options);
    return (await laboratory.store.read(artefact.id, { quick: false }))?.commit;
  };
  // Earlier artefacts of the same command have written results.
  await writeDocuments(laboratory.root, 'second version');
  expect(await measuredCommit()).toBe(commit);
  whileMeasuring = () => writeFile(laboratory.program, 'second version');
  expect(await measuredCommit()).toBe(commit);
  expect(await measuredCommit()).toBe(`${commit} with changes`);
});

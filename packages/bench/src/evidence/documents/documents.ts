import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fillBlocks, hasBlocks, type Measurement } from './blocks.js';

/** A document as it is, and with its tables taken from results */
export interface FilledDocument {
  /** Path, relative to the repository */
  path: string;
  before: string;
  after: string;
}

/** Fills the documents of the repository that take tables from results. @throws UserError for an unknown table */
export async function fillDocuments(root: string, measurements: readonly Measurement[]): Promise<FilledDocument[]> {
  const below = await readdir(join(root, 'docs'), { recursive: true });
  const paths = ['README.md', ...below.filter((path) => path.endsWith('.md')).map((path) => join('docs', path))].sort();
  const documents = await Promise.all(
    paths.map(async (path) => ({ path, before: await readFile(join(root, path), 'utf8') })),
  );
  return documents
    .filter(({ before }) => hasBlocks(before))
    .map(({ path, before }) => ({ path, before, after: fillBlocks(before, measurements) }));
}

/** Writes the documents whose tables differ from the results. Returns their paths. @throws UserError */
export async function writeDocuments(root: string, measurements: readonly Measurement[]): Promise<string[]> {
  const changed = (await fillDocuments(root, measurements)).filter(({ before, after }) => before !== after);
  await Promise.all(changed.map(({ path, after }) => writeFile(join(root, path), after)));
  return changed.map(({ path }) => path);
}

import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fillDocuments, writeDocuments } from '../../../src/evidence/documents/documents.js';
import { measurementsOf } from '../../../src/evidence/evidence.js';
import { openLaboratory } from '../../../src/evidence/laboratory.js';
import { someArtefact } from '../some_artefact.js';

test('the tables of the README and of all documents equal the committed results', { timeout: 300_000 }, async () => {
  const laboratory = await openLaboratory();
  const documents = await fillDocuments(laboratory.root, await measurementsOf(laboratory));
  expect(documents.map(({ path }) => path)).toContain('README.md');
  // `sheaf evidence documents` writes them.
  for (const { path, before, after } of documents) expect(before, path).toBe(after);
});

test('documents with blocks are written, and others are left alone', async () => {
  const root = await mkdtemp(join(tmpdir(), 'sheaf-documents-'));
  await mkdir(join(root, 'docs', 'results'), { recursive: true });
  const block = '<!-- evidence: paper/figure-1 claims -->\nold\n<!-- end of evidence -->\n';
  await writeFile(join(root, 'README.md'), `# Title\n\n${block}`);
  await writeFile(join(root, 'docs', 'results', 'times.md'), 'nothing is taken from results here\n');
  const measurements = [{ artefact: someArtefact(), result: undefined }];
  await expect(writeDocuments(root, measurements)).resolves.toEqual(['README.md']);
  await expect(readFile(join(root, 'README.md'), 'utf8')).resolves.toContain('Not measured yet');
  await expect(writeDocuments(root, measurements)).resolves.toEqual([]);
});

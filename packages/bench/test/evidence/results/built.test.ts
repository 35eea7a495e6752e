import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkBuilt } from '../../../src/evidence/results/built.js';

/** A repository whose set-up calls these steps outdated, if it is asked for them */
async function repositoryWith(outdated: readonly string[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'sheaf-built-'));
  await mkdir(join(root, 'scripts'));
  const body = `export const outdated = (steps) => ${JSON.stringify(outdated)}.filter((name) => steps.has(name));\n`;
  await writeFile(join(root, 'scripts', 'setup.mjs'), body);
  return root;
}

test('outputs that are not built from the sources are named, with the command that builds them', async () => {
  await expect(checkBuilt(await repositoryWith(['addon', 'typescript']))).rejects.toMatchObject({
    message: 'what would run is not built from the sources: addon, typescript',
    hint: 'run `npm run setup`',
  });
});

test('what experiments do not run may be outdated', async () => {
  await expect(checkBuilt(await repositoryWith(['dependencies']))).resolves.toBeUndefined();
});

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { limitsTable } from '../../src/schema/limits_table.js';

const page = fileURLToPath(new URL('../../../../docs/reference/limits.md', import.meta.url));

it('docs/reference/limits.md has the table that the schema gives (`npx vitest run limits.test -u` writes it)', async () => {
  const old = await readFile(page, 'utf8').catch(() => '');
  const begin = Math.max(0, old.indexOf('| resource |'));
  const before = old.slice(0, begin);
  const after = old.slice(old.indexOf(' |\n\n', begin) + 3);
  await expect(`${before}${limitsTable()}\n${after}`).toMatchFileSnapshot(page);
});

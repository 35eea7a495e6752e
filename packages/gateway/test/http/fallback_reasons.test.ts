import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fallbackTable } from '../../src/http/fallback_reasons.js';

const page = fileURLToPath(new URL('../../../../docs/reference/delivery.md', import.meta.url));

it('docs/reference/delivery.md has the table of the code (`npx vitest run fallback_reasons.test -u` writes it)', async () => {
  const old = await readFile(page, 'utf8').catch(() => '');
  const before = old.slice(0, Math.max(0, old.indexOf('| reason |')));
  const after = old.slice(old.lastIndexOf(' |\n') + 3);
  await expect(`${before}${fallbackTable()}\n${after}`).toMatchFileSnapshot(page);
});

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadConfiguration } from '../../src/configuration/load.js';
import { UserError } from '../../src/errors/user_error.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const directory = fileURLToPath(new URL('../fixtures/configuration_errors/', import.meta.url));
const separator = '\n======\n';

/**
 * One file is one case: the configuration, a line, the expected text of the error.
 * `UPDATE=1` writes the expectations anew; read the difference before committing it.
 */
describe('a wrong configuration is refused with place, cause and fix', async () => {
  for (const name of await readdir(directory)) {
    it(name.replace(/\.txt$/, '').replaceAll('_', ' '), async () => {
      const text = await readFile(join(directory, name), 'utf8');
      const [configuration = '', expected = ''] = text.split(separator);
      const home = await temporaryDirectory();
      await mkdir(join(home, 'site'));
      await writeFile(join(home, 'file.txt'), 'not a directory');
      await writeFile(join(home, 'sheaf.yaml'), configuration);
      const error = await loadConfiguration(join(home, 'sheaf.yaml')).catch((caught: unknown) => caught);
      const actual =
        error instanceof UserError ? `${error.render().replaceAll(home, '<dir>')}\n` : `no error: ${String(error)}\n`;
      if (process.env['UPDATE'] === '1')
        await writeFile(join(directory, name), `${configuration}${separator}${actual}`);
      else expect(actual).toBe(expected);
      expect(error).toMatchObject({ exitCode: 2 });
    });
  }
});

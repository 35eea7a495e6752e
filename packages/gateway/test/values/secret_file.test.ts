import { chmod, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSecretFile } from '../../src/values/secret_file.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const named = { noun: 'the secrets', option: 'secrets' };

async function secretFile(mode: number, owner?: number): Promise<string> {
  const file = join(await temporaryDirectory(), 'secrets');
  await writeFile(file, 'secret');
  await chmod(file, mode);
  if (owner !== undefined) await chown(file, owner, owner);
  return file;
}

it.each([0o400, 0o600])('a file of this user that only this user may use is read: %o', async (mode) => {
  expect(await readSecretFile(await secretFile(mode), named)).toBe('secret');
});

it.each([0o440, 0o404, 0o620, 0o644])('a file of this user that others may use is refused: %o', async (mode) => {
  await expect(readSecretFile(await secretFile(mode), named)).rejects.toMatchObject({ code: 'CREDENTIALS_UNUSABLE' });
});

const cannotGive = process.geteuid?.() === 0 ? false : 'only root can give files to another user';

it.skipIf(cannotGive)(
  `a file of another user that its group may read is lent to this user (${cannotGive || 'root'})`,
  async () => {
    for (const mode of [0o400, 0o440])
      expect(await readSecretFile(await secretFile(mode, 12_345), named)).toBe('secret');
    for (const mode of [0o444, 0o460, 0o442])
      await expect(readSecretFile(await secretFile(mode, 12_345), named)).rejects.toMatchObject({
        code: 'CREDENTIALS_UNUSABLE',
      });
  },
);

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sheaf, temporaryDirectory } from './support/world.js';

it('makes a key once, shows its public part, and never the private one', async () => {
  const home = await temporaryDirectory();
  const made = await sheaf(['keys', 'new', 'backend1'], home);
  expect(made).toMatchObject({ code: 0, err: '' });
  const publicKey = /^public_key: (ed25519:[\w-]{43})$/m.exec(made.out)?.[1];
  expect(publicKey).toBeDefined();
  const file = join(home, '.sheaf', 'keys', 'backend1.key');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const pem = await readFile(file, 'utf8');
  const shown = await sheaf(['keys', 'show', 'backend1', '--json'], home);
  expect(JSON.parse(shown.out)).toEqual({ file, public_key: publicKey });
  const again = await sheaf(['keys', 'new', 'backend1'], home);
  expect(again.code).toBe(2);
  expect(again.err).toContain('KEY_EXISTS');
  expect(await readFile(file, 'utf8')).toBe(pem);
  const secret = pem.split('\n')[1] ?? 'nothing';
  for (const { out, err } of [made, shown, again]) expect(out + err).not.toContain(secret);
});

it('refuses a name that would leave the directory', async () => {
  const { code, err } = await sheaf(['keys', 'new', '../backend1']);
  expect(code).toBe(2);
  expect(err).toContain('is not a name of a node');
});

import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { packDirectory } from '../../src/directory/pack.js';
import { temporaryDirectory } from '../support/world.js';

const program = fileURLToPath(new URL('../support/receive_directory.mjs', import.meta.url));

/** Runs a script of the shell with file systems of its own. */
const withMounts = (script: string, args: string[], input?: Buffer) =>
  spawnSync('unshare', ['-m', 'sh', '-ec', script, 'sh', ...args], { input, encoding: 'utf8' });

const { status, stderr } = withMounts('mount -t tmpfs none /mnt', []);
if (status !== 0) console.warn(`skipped: directories on mount points: ${stderr}`);

/** Receives two files as a directory at which something is mounted. */
async function receive(mount: string) {
  const sent = await temporaryDirectory();
  const target = join(await temporaryDirectory(), 'got');
  await mkdir(target);
  for (const path of ['a', 'deep/b']) {
    await mkdir(dirname(join(sent, path)), { recursive: true });
    await writeFile(join(sent, path), 'bytes');
  }
  const packed = Buffer.concat(await (await packDirectory(sent, 'sent')).toArray());
  const script = `mount ${mount}; exec "$2" "$3" "$1"`;
  const ended = withMounts(script, [target, process.execPath, program], packed);
  expect(ended.stderr).toBe('');
  return { target, ...(JSON.parse(ended.stdout) as { places: string[]; failure?: Record<string, string> }) };
}

it.skipIf(status !== 0)('a directory is received as one that is a mount point', async () => {
  const { places, failure } = await receive('-t tmpfs none "$1"');
  expect({ places, failure }).toEqual({ places: ['got/a', 'got/deep/b'], failure: undefined });
});

it.skipIf(status !== 0)('a directory that gets its name nowhere stays beside it, and its user is told', async () => {
  // Both have the same device, yet no rename leads from one to the other.
  const { target, places, failure } = await receive('--bind "$1" "$1"');
  const part = /^got\.part-\w+\/files/.exec(places[0] ?? '')?.[0] ?? '';
  expect(places).toEqual([`${part}/a`, `${part}/deep/b`]);
  expect(failure).toEqual({
    code: 'FILE_UNWRITABLE',
    message: 'got cannot be written (EBUSY)',
    hint: `all its files are complete: take them from ${join(dirname(target), part)}`,
  });
});

import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { watchFile } from '../../../src/nodes/reload/watch_file.js';
import { FileState } from '../../../src/tls/file_state.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

/** Counts the changes of a file, for which the watch looks often. */
async function watch(file: string): Promise<{ count: number }> {
  const seen = { count: 0 };
  onTestFinished(watchFile(await FileState.of([file]), () => Promise.resolve((seen.count += 1)), 20));
  return seen;
}

const expectCount = (seen: { count: number }, count: number): Promise<void> =>
  vi.waitFor(() => expect(seen.count).toBe(count), 10_000);

it('sees a file that is written in place, and one that an editor renames over it', async () => {
  const directory = await temporaryDirectory();
  const file = join(directory, 'sheaf.yaml');
  await writeFile(file, 'one');
  const seen = await watch(file);
  await writeFile(file, 'three');
  await expectCount(seen, 1);
  await rename(file, `${file}~`);
  await writeFile(`${file}.new`, 'three');
  await rename(`${file}.new`, file);
  await expectCount(seen, 2);
});

it('sees that the link to a directory leads to another one, as volumes of Kubernetes do', async () => {
  const directory = await temporaryDirectory();
  for (const name of ['..one', '..two']) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'sheaf.yaml'), name);
  }
  await symlink('..one', join(directory, '..data'));
  await symlink(join('..data', 'sheaf.yaml'), join(directory, 'sheaf.yaml'));
  const seen = await watch(join(directory, 'sheaf.yaml'));
  await symlink('..two', join(directory, '..data_tmp'));
  await rename(join(directory, '..data_tmp'), join(directory, '..data'));
  await rm(join(directory, '..one'), { recursive: true });
  await expectCount(seen, 1);
});

it('waits for a file that is still being written, and lets nothing be missed while it tells', async () => {
  const file = join(await temporaryDirectory(), 'sheaf.yaml');
  await writeFile(file, '');
  const states: string[] = [];
  let text = '';
  let release = (): void => undefined;
  const first = new Promise<void>((resolve) => (release = resolve));
  const stop = watchFile(
    await FileState.of([file]),
    async () => {
      states.push(text);
      if (states.length === 1) await first;
    },
    20,
  );
  onTestFinished(stop);
  await writeFile(file, (text = 'whole'));
  await vi.waitFor(() => expect(states).toHaveLength(1), 10_000);
  await writeFile(file, (text = 'whole again'));
  release();
  await vi.waitFor(() => expect(states).toEqual(['whole', 'whole again']), 10_000);
});

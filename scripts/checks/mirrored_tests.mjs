// Checks that a package's tests have the same folders as its source.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Folders that tests share */
const ownFolders = ['support', 'fixtures'];

/** Returns one line for each folder of `test` that `src` does not have. `apart` lists top folders that need none. */
export function checkMirroredTests(home, apart = []) {
  const test = join(home, 'test');
  if (!existsSync(test)) return [];
  return readdirSync(test, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => relative(test, join(entry.parentPath ?? dirname(entry.path), entry.name)))
    .filter((folder) => ![...ownFolders, ...apart].includes(folder.split('/')[0]))
    .filter((folder) => !existsSync(join(home, 'src', folder)))
    .sort()
    .map((folder) => `test/${folder}/: there is no folder src/${folder}/ that it tests`);
}

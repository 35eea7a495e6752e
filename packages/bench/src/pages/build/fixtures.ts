import { createHash } from 'node:crypto';
import { readFile, readdir, rename, rm, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '@sheaf/gateway';
import { buildPage, writePage } from './build_page.js';
import { parsePageTable, type PageResource } from '../table/page_table.js';

/** Directory of the tables, which are part of the repository, but not of the package */
const tables = fileURLToPath(new URL('../../../../../fixtures/pages/', import.meta.url));
/** Version of the build, incremented when the same tables give other bytes */
const generation = 1;
const stamp = '.tables';

/** Returns the names of the repository's pages. @throws UserError outside of it */
export async function pageNames(): Promise<string[]> {
  const files = await readdir(tables).catch(() => {
    throw new UserError('PAGES_UNAVAILABLE', 'the page fixtures are not part of this package', { hint: 'run this in a clone of the repository' });
  });
  return files.filter((file) => file.endsWith('.tsv')).map((file) => basename(file, '.tsv')).sort();
}

/** Returns the resources of a page in the order in which it requests them. @throws UserError */
export async function pageResources(name: string): Promise<PageResource[]> {
  const known = await pageNames();
  if (!known.includes(name)) throw new UserError('PAGES_UNAVAILABLE', `there is no page '${name}'`, { hint: `there are: ${known.join(', ')}` });
  return parsePageTable(await readFile(join(tables, `${name}.tsv`), 'utf8'), `${name}.tsv`);
}

/**
 * Returns the directory with all pages as `NAME/index.html`. Builds it when it is missing, or its tables have changed.
 */
export async function ensurePages(): Promise<string> {
  const directory = join(tables, 'build');
  const names = await pageNames();
  const hash = createHash('sha256').update(String(generation));
  for (const name of names) hash.update(name).update(await readFile(join(tables, `${name}.tsv`)));
  const wanted = hash.digest('hex');
  if ((await readFile(join(directory, stamp), 'utf8').catch(() => '')) === wanted) return directory;
  const part = `${directory}.${process.pid}.part`;
  try {
    await mkdir(part, { recursive: true });
    for (const name of names) await writePage(part, name, buildPage(name, await pageResources(name)));
    await writeFile(join(part, stamp), wanted);
    await rm(directory, { recursive: true, force: true });
    await rename(part, directory);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
  return directory;
}

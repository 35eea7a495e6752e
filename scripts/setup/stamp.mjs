// Stamps steps with the hash of everything they read, after they succeeded. A step runs again when its inputs changed
// or its outputs are gone, so an interrupted set-up resumes where it stopped.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

export const root = dirname(dirname(import.meta.dirname));
const stampDirectory = join(root, '.sheaf', 'setup');

/** Folders without sources, unless they are in a folder of sources or tests */
const produced = new Set(['node_modules', 'dist', 'build', 'target']);
const written = new Set(['src', 'test']);

/** Returns all files below `path` (or the file itself) that `accept` accepts, in a stable order. */
export function filesBelow(path, accept = () => true) {
  const absolute = join(root, path);
  if (!existsSync(absolute)) return [];
  if (statSync(absolute).isFile()) return [path];
  const found = [];
  const entries = readdirSync(absolute, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) {
      if (produced.has(entry.name) && !child.split(sep).some((name) => written.has(name))) continue;
      found.push(...filesBelow(child, accept));
    } else if (accept(child)) {
      found.push(child);
    }
  }
  return found;
}

/** Returns a hash of the files' names and contents and of `extra` (versions, flags). */
export function hashInputs(files, extra = []) {
  const hash = createHash('sha256');
  for (const text of extra) hash.update(`${text}\0`);
  for (const file of files) {
    hash.update(`${file}\0`);
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

export function isFresh(step, hash, outputs) {
  const path = join(stampDirectory, step);
  if (!existsSync(path) || readFileSync(path, 'utf8') !== hash) return false;
  return outputs.every((output) => existsSync(join(root, output)));
}

export function writeStamp(step, hash) {
  mkdirSync(stampDirectory, { recursive: true });
  const path = join(stampDirectory, step);
  writeFileSync(`${path}.part`, hash);
  renameSync(`${path}.part`, path);
}

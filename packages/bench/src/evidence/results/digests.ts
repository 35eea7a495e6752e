import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Setup } from '../artefact/artefact.js';

/** Folders of build results among the sources */
const built = /(?:^|\/)(?:target|build|dist|node_modules)\//;

/**
 * Computes the SHA-256 over names and contents of all files in these folders and files, which are relative to the root.
 */
export function digestOfSources(root: string, sources: readonly string[]): string {
  const hash = createHash('sha256');
  for (const source of [...sources].sort()) {
    for (const file of filesOf(root, source))
      hash
        .update(`${file}\0`)
        .update(readFileSync(join(root, file)))
        .update('\0');
  }
  return hash.digest('hex');
}

function filesOf(root: string, source: string): string[] {
  if (statSync(join(root, source)).isFile()) return [source];
  return readdirSync(join(root, source), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((file) => !built.test(file))
    .sort();
}

/** Computes the SHA-256 of everything that decides the figures of an artefact beside the program. */
export const digestOfSettings = (setup: Setup, quick: boolean): string =>
  createHash('sha256').update(JSON.stringify({ setup, quick })).digest('hex');

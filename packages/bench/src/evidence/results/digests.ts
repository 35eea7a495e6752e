import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Setup } from '../artefact/artefact.js';
import { withImports } from './import_graph.js';

/** Folders of what is built beside sources of programs, and of the pages that are built from tables */
const built = /(?:^|\/)(?:target|node_modules)\/|^fixtures\/pages\/build[./]/;

/**
 * Computes the SHA-256 over names and contents of all files in these folders and files, which are relative to the root.
 * A TypeScript file brings along every module that it imports.
 */
export function digestOfSources(root: string, sources: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of measuredFiles(root, sources))
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

/** Returns the files whose change makes results stale, relative to the root. */
export function measuredFiles(root: string, sources: readonly string[]): string[] {
  const modules = sources.filter((source) => source.endsWith('.ts'));
  const others = sources.filter((source) => !source.endsWith('.ts')).flatMap((source) => filesOf(root, source));
  return [...new Set([...withImports(root, modules), ...others])].sort();
}

function filesOf(root: string, source: string): string[] {
  if (statSync(join(root, source)).isFile()) return [source];
  return readdirSync(join(root, source), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((file) => !built.test(file));
}

/** Computes the SHA-256 of everything that decides the figures of an artefact beside the program. */
export const digestOfSettings = (setup: Setup, quick: boolean): string =>
  createHash('sha256').update(JSON.stringify({ setup, quick })).digest('hex');

// Checks layers.json of a package, which lists for every folder of its source the folders directly below it.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileGraph } from './imports.mjs';

/**
 * Returns one line for each violation. Files directly in `source` are its roof: they may import every folder, and no
 * folder may import them.
 */
export function checkFolderLayers(source, layers) {
  const violations = [];
  const used = new Map();
  const unlisted = new Set();
  for (const [file, imports] of fileGraph(source)) {
    const folder = dirname(file);
    if (folder === '.') continue;
    if (!(folder in layers)) unlisted.add(folder);
    for (const { target, line } of imports) {
      const other = dirname(target);
      if (other === folder) continue;
      addUse(used, folder, other);
      if (folder in layers && !below(folder, layers).has(other))
        violations.push(
          `${file}:${line}: ${folder}/ may not import ${other === '.' ? target : `${other}/`} (layers.json)`,
        );
    }
  }
  for (const folder of unlisted) violations.push(`${folder}/ is not in layers.json`);
  return [...violations, ...staleEntries(source, layers, used)];
}

export function addUse(used, folder, other) {
  if (!used.has(folder)) used.set(folder, new Set());
  used.get(folder).add(other);
}

/** Returns every folder that `folder` may import, directly or through another. */
export function below(folder, layers, seen = new Set()) {
  for (const lower of layers[folder] ?? []) {
    if (seen.has(lower)) continue;
    seen.add(lower);
    below(lower, layers, seen);
  }
  return seen;
}

/**
 * Finds folders that do not exist, and permissions that nothing uses. `used` contains for each folder the folders that
 * its files import.
 */
export function staleEntries(source, layers, used) {
  return Object.entries(layers).flatMap(([folder, lower]) => {
    if (!existsSync(join(source, folder))) return [`layers.json: there is no folder ${folder}/`];
    return lower
      .filter((other) => !used.get(folder)?.has(other))
      .map((other) => `layers.json: ${folder}/ may use ${other}/ and does not`);
  });
}

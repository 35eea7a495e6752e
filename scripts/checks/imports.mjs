// Lists the imports between source files of a package.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

const script = /\.(ts|tsx|mts|js|mjs)$/;
const cpp = /\.(h|cc)$/;

/** Returns every import of a file: the specifier and the line. */
export function importsOf(file) {
  const found = [];
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const pattern =
      /(?:^\s*(?:import|export)\b[^'"]*?\bfrom\s+|^\s*import\s+|^\s*\}\s*from\s+|\bimport\()\s*['"]([^'"]+)['"]/g;
    for (const match of line.matchAll(pattern)) found.push({ specifier: match[1], line: index + 1 });
  }
  return found;
}

export function scriptFiles(folder) {
  return filesOf(folder, script).filter((path) => !path.includes('node_modules'));
}

export function cppFiles(folder) {
  return filesOf(folder, cpp);
}

function filesOf(folder, pattern) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => join(entry.parentPath ?? dirname(entry.path), entry.name))
    .sort();
}

/**
 * Returns a map from each file below `source` to the files that it imports or includes, by their paths from `source`.
 */
export function fileGraph(source) {
  const graph = new Map();
  for (const file of scriptFiles(source)) graph.set(relative(source, file), importedFiles(source, file));
  for (const file of cppFiles(source)) graph.set(relative(source, file), includedFiles(source, file));
  return graph;
}

function importedFiles(source, file) {
  return importsOf(file)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier, line }) => ({ line, target: relative(source, sourceOf(join(dirname(file), specifier))) }));
}

/** Returns the source of a module: `./x.js` is compiled from `./x.ts`. */
function sourceOf(path) {
  const typescript = path.replace(/\.js$/, '.ts').replace(/\.mjs$/, '.mts');
  return existsSync(typescript) ? typescript : path;
}

function includedFiles(source, file) {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text, index) => {
      const target = /^\s*#\s*include\s+"([^"]+)"/.exec(text)?.[1];
      return target !== undefined && existsSync(join(source, target))
        ? [{ line: index + 1, target: normalize(target) }]
        : [];
    });
}

// Checks sizes: functions have at most 60 lines, classes at most 30 public methods, and each C++ class one .cc file.
// size_exceptions.json lists what may be larger, with the reason. An exception that nothing needs is an error, too.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { outlineOf } from './cpp_outline.mjs';
import { cppFiles, scriptFiles } from './imports.mjs';
import { scriptOutline } from './script_outline.mjs';

export const maximumLines = 60;
export const maximumPublicMethods = 30;

const sources = [
  'packages/native/src',
  'packages/native/lib',
  'packages/native/bench',
  'packages/native/fuzz',
  'packages/native/examples',
  'packages/gateway/src',
  'packages/web-client/src',
  'packages/cli/src',
  'packages/bench/src',
  'scripts',
];

/**
 * Returns one line for each violation. `exceptions`: { what, file, name, size, reason } each; `what` as in {@link
 * measure}.
 */
export function checkSizes(root, exceptions, folders = sources) {
  const unused = new Set(exceptions);
  const found = [];
  for (const each of measure(root, folders)) {
    const exception = exceptions.find(
      ({ what, file, name }) => what === each.what && file === each.file && name === each.name,
    );
    if (exception === undefined) found.push(`${each.file}:${each.line}: ${each.told}`);
    else if (each.size > exception.size)
      found.push(`${each.file}:${each.line}: ${each.told}; its exception permits ${exception.size}`);
    unused.delete(exception);
  }
  for (const { what, file, name } of unused)
    found.push(`size_exceptions.json: nothing needs the exception of the ${what} ${name} in ${file}`);
  for (const { file, name, reason } of exceptions)
    if (!reason?.trim()) found.push(`size_exceptions.json: ${name} in ${file} has no reason`);
  return found;
}

/** Finds everything that is too large: a `function`, a `class`, or a class in several files (`split`). */
function measure(root, folders) {
  const large = [];
  const homes = new Map();
  for (const path of folders.flatMap((folder) => [
    ...cppFiles(join(root, folder)),
    ...scriptFiles(join(root, folder)),
  ])) {
    const file = relative(root, path);
    const { functions, classes } = outline(path);
    large.push(
      ...functions
        .filter(({ lines }) => lines > maximumLines)
        .map(({ name, line, lines }) => ({
          what: 'function',
          file,
          name,
          line,
          size: lines,
          told: `${name} has ${lines} lines; ${maximumLines} are the most`,
        })),
      ...classes
        .filter(({ publicMethods }) => publicMethods > maximumPublicMethods)
        .map(({ name, line, publicMethods }) => ({
          what: 'class',
          file,
          name,
          line,
          size: publicMethods,
          told: `${name} has ${publicMethods} public methods; ${maximumPublicMethods} are the most`,
        })),
    );
    if (path.endsWith('.cc')) addHomes(homes, file, functions);
  }
  return [...large, ...splits(homes)];
}

function outline(path) {
  const text = readFileSync(path, 'utf8');
  try {
    return /\.(h|cc)$/.test(path) ? outlineOf(text) : scriptOutline(path, text);
  } catch (error) {
    throw new Error(`${path}: ${error.message}`, { cause: error });
  }
}

/**
 * Collects the files that define methods of each class. Classes of the same name in different folders are different.
 */
function addHomes(homes, file, functions) {
  for (const { name, line, local } of functions) {
    const type = name.split('::').slice(0, -1).join('::');
    if (type === '' || local) continue;
    const key = `${file.split('/').slice(0, -1).join('/')} ${type}`;
    if (!homes.has(key)) homes.set(key, new Map());
    if (!homes.get(key).has(file)) homes.get(key).set(file, line);
  }
}

function splits(homes) {
  return [...homes].flatMap(([key, files]) => {
    if (files.size < 2) return [];
    const [[file, line]] = files;
    const name = key.split(' ')[1];
    const others = [...files.keys()].slice(1).map((other) => other.split('/').at(-1));
    return [
      { what: 'split', file, name, line, size: files.size, told: `${name} is also defined in ${others.join(', ')}` },
    ];
  });
}

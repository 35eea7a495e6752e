import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Statements that import or export types alone, and so load nothing */
const ofTypes = /^(?:import|export) type [^;]*;$/gm;
/** A module or a program of the same package: it is imported, or started in another process or thread. */
const ownModule = /'([^'\n]+)\.js'/g;
/** A package of the workspace, behind the names that are taken from it */
const workspaceModule = /(?:^(?:import|export) \{([^}]*)\} from )?'(@sheaf\/[^'\n]+)'/gm;
const exported = /^export (?:\{([^}]*)\}|\*) from '([^']+)\.js';$/gm;

/**
 * Returns TypeScript files with all files of the workspace that they import or start, directly or through others, as
 * paths relative to the root. Of a package it takes the modules that have the imported names, and of other packages
 * than those of the workspace none.
 */
export function withImports(root: string, entries: readonly string[]): string[] {
  const found = new Set(entries);
  // A set visits what is added meanwhile, too.
  for (const file of found) for (const imported of importsOf(root, file)) found.add(imported);
  return [...found].sort();
}

/** Returns the files that one file imports or starts itself. */
export function importsOf(root: string, file: string): string[] {
  const text = readLoaded(root, file);
  const own = [...text.matchAll(ownModule)].flatMap(([, path = '']) => sourceOf(root, join(dirname(file), path)) ?? []);
  const others = [...text.matchAll(workspaceModule)].flatMap(([, names, specifier = '']) => {
    const entry = entryOf(root, specifier);
    if (entry === undefined) return [];
    // An import of everything names nothing.
    return names === undefined ? [entry] : namesIn(names).map((name) => providerOf(root, entry, name) ?? entry);
  });
  return [...own, ...others];
}

/** Reads a file without what concerns types alone. */
const readLoaded = (root: string, file: string): string => readFileSync(join(root, file), 'utf8').replace(ofTypes, '');

/** Returns the names of "a, type B, c as d" that are values, as the exporting side calls them. */
const namesIn = (list: string): string[] =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '' && !item.startsWith('type '))
    .map((item) => item.split(' ')[0] ?? item);

/** Returns the source of a module, whose path has no extension; undefined when there is none. */
function sourceOf(root: string, path: string): string | undefined {
  const [, folder = '', rest = ''] = /^(packages\/[^/]+)\/dist\/(.*)$/.exec(path) ?? [];
  const places = folder === '' ? [path] : [`${folder}/src/${rest}`, `${folder}/lib/${rest}`];
  return places.map((place) => `${place}.ts`).find((place) => existsSync(join(root, place)));
}

/** Returns the source behind an export of a package of the workspace, such as `@sheaf/gateway/heap`. */
function entryOf(root: string, specifier: string): string | undefined {
  const [, name = '', ...rest] = specifier.split('/');
  const folder = join('packages', name);
  if (!existsSync(join(root, folder))) return undefined;
  const { exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, { default: string } | undefined>>;
  };
  const target = exports[['.', ...rest].join('/')]?.default;
  return target === undefined ? undefined : sourceOf(root, join(folder, target.replace(/\.js$/, '')));
}

/** Returns the module that a package's file of exports takes a name from; undefined when none is found. */
function providerOf(root: string, entry: string, name: string): string | undefined {
  for (const [, names, path = ''] of readLoaded(root, entry).matchAll(exported)) {
    const source = sourceOf(root, join(dirname(entry), path));
    if (source === undefined) continue;
    if (names !== undefined && exportedNames(names).includes(name)) return source;
    const provider = names === undefined ? providerOf(root, source, name) : undefined;
    if (provider !== undefined) return provider;
  }
  const declares = new RegExp(`^export (?:async )?(?:const|function|class|enum) ${name}\\b`, 'm');
  return declares.test(readLoaded(root, entry)) ? entry : undefined;
}

/** Returns the names of "a, c as d" as importing modules call them. */
const exportedNames = (list: string): string[] => list.split(',').map((item) => item.trim().split(' ').at(-1) ?? item);

// Who may import whom among packages/: cli -> bench -> gateway -> native. web-client stands alone; the
// gateway takes the codec of the page protocol from it, so that both ends share one.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

export const packageLayers = {
  native: [],
  gateway: ['native', 'web-client'],
  bench: ['gateway', 'native', 'web-client'],
  cli: ['bench', 'gateway', 'native'],
  'web-client': [],
};

/** Returns one line per violation. `packages` is the folder that holds the packages. */
export function checkPackageLayers(packages, layers = packageLayers) {
  return Object.keys(layers).flatMap((name) => {
    const home = join(packages, name);
    const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    const declared = new Set(['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap((kind) => Object.keys(manifest[kind] ?? {})));
    return sourceFiles(home).flatMap((file) =>
      importsOf(file).map(({ specifier, line }) => {
        const problem = checkImport(specifier, { file, home, name, declared, allowed: layers[name] });
        return problem && `${relative(packages, file)}:${line}: ${problem}`;
      }).filter(Boolean));
  });
}

function checkImport(specifier, { file, home, name, declared, allowed }) {
  if (specifier.startsWith('.')) {
    const target = resolve(dirname(file), specifier);
    return target.startsWith(home + sep) ? undefined : `'${specifier}' reaches into another package; import it by its name`;
  }
  const match = /^@sheaf\/([^/]+)(\/.*)?$/.exec(specifier);
  if (match === null) return undefined;
  const [, target, subpath = ''] = match;
  if (target === name) return undefined;
  if (!allowed.includes(target)) return `${name} may not import @sheaf/${target}`;
  if (!declared.has(`@sheaf/${target}`)) return `@sheaf/${target} is not in the package's dependencies`;
  return /^\/(src|lib|dist)\//.test(subpath) ? `'${specifier}' goes around the package's exports` : undefined;
}

function importsOf(file) {
  const found = [];
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const pattern = /(?:^\s*(?:import|export)\b[^'"]*?\bfrom\s+|^\s*import\s+|^\s*\}\s*from\s+|\bimport\()\s*['"]([^'"]+)['"]/g;
    for (const match of line.matchAll(pattern)) found.push({ specifier: match[1], line: index + 1 });
  }
  return found;
}

function sourceFiles(home) {
  return ['src', 'lib', 'test'].map((folder) => join(home, folder)).filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true })
      .filter((path) => /\.(ts|tsx|mts|js|mjs)$/.test(path) && !path.includes('node_modules'))
      .map((path) => join(folder, path)));
}

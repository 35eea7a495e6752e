// Checks imports between packages: bench -> cli -> gateway -> native. The cli looks for bench when it runs, so that it
// can be installed without it. web-client stands alone. The gateway uses its codec of the page protocol, so that both
// sides share one.
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { importsOf, scriptFiles } from './imports.mjs';

export const packageLayers = {
  native: [],
  gateway: ['native', 'web-client'],
  bench: ['cli', 'gateway', 'native', 'web-client'],
  cli: ['gateway', 'native'],
  'web-client': [],
};

/** Returns one line for each violation. `packages` is the folder that contains the packages. */
export function checkPackageLayers(packages, layers = packageLayers) {
  return Object.keys(layers).flatMap((name) => {
    const home = join(packages, name);
    const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    const declared = new Set(
      ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap((kind) =>
        Object.keys(manifest[kind] ?? {}),
      ),
    );
    return sourceFiles(home).flatMap((file) =>
      importsOf(file)
        .map(({ specifier, line }) => {
          const problem = checkImport(specifier, { file, home, name, declared, allowed: layers[name] });
          return problem && `${relative(packages, file)}:${line}: ${problem}`;
        })
        .filter(Boolean),
    );
  });
}

function checkImport(specifier, { file, home, name, declared, allowed }) {
  if (specifier.startsWith('.')) {
    const target = resolve(dirname(file), specifier);
    return target.startsWith(home + sep)
      ? undefined
      : `'${specifier}' reaches into another package; import it by its name`;
  }
  const match = /^@sheaf\/([^/]+)(\/.*)?$/.exec(specifier);
  if (match === null) return undefined;
  const [, target, subpath = ''] = match;
  if (target === name) return undefined;
  if (!allowed.includes(target)) return `${name} may not import @sheaf/${target}`;
  if (!declared.has(`@sheaf/${target}`)) return `@sheaf/${target} is not in the package's dependencies`;
  return /^\/(src|lib|dist)\//.test(subpath) ? `'${specifier}' goes around the package's exports` : undefined;
}

function sourceFiles(home) {
  return ['src', 'lib', 'bin', 'examples', 'test'].flatMap((folder) => scriptFiles(join(home, folder)));
}

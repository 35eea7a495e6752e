// The shared libraries that the addon needs beyond those of Debian's minimal system, and the Debian packages that they
// come from.
import { realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { StepError, mustRun } from '../setup/process.mjs';

/** Source packages of what every system has that runs Node: the C library and the compiler's runtime */
const everywhere = /^(?:glibc|gcc-\d+)$/;

/**
 * Returns the libraries that the addon needs, directly or by another library: each with the `name` that the dynamic linker asks
 * for, its `path`, the `package` that has it, this package's `version`, its `source` package and the version of that.
 */
export function packedLibraries(addon) {
  const output = mustRun('The libraries of the addon could not be listed.', 'ldd', [addon]);
  return parseLibraries(output)
    .map((library) => ({ ...library, ...packageOf(library.path) }))
    .filter(({ source }) => !everywhere.test(source))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Reads what ldd prints. @throws StepError when a library is missing */
export function parseLibraries(output) {
  const missing = [...output.matchAll(/^\s*(\S+) => not found$/gm)].map(([, name]) => name);
  if (missing.length > 0)
    throw new StepError(`Libraries of the addon are missing: ${missing.join(', ')}.`, { command: 'npm run setup' });
  return [...output.matchAll(/^\s*(\S+) => (\/\S+) \(0x[\da-f]+\)$/gm)].map(([, name, path]) => ({ name, path }));
}

function packageOf(path) {
  const file = realpathSync(path);
  // The path in the package may begin with /lib, which Debian 12 has moved to /usr/lib.
  const listing = mustRun(`No package has ${path}.`, 'dpkg-query', ['--search', `*/${basename(file)}`]);
  const owners = [...listing.matchAll(/^(\S+): (\S+)$/gm)].filter(([, , owned]) => sameFile(owned, file));
  if (owners.length !== 1)
    throw new StepError(`No package has ${path}.`, { cause: 'licences are read from the packages of Debian' });
  const fields = ['Package', 'Version', 'source:Package', 'source:Version'];
  const format = fields.map((field) => `\${${field}}`).join('\\t');
  const described = mustRun(`${path} has no package.`, 'dpkg-query', [
    '--show',
    `--showformat=${format}`,
    owners[0][1],
  ]);
  const [name, version, source, sourceVersion] = described.split('\t');
  return { package: name, version, source, sourceVersion };
}

function sameFile(owned, file) {
  try {
    return realpathSync(owned) === file;
  } catch {
    return false;
  }
}

/** Returns the newest version of glibc that one of the files asks for, such as `2.34`. */
export function neededGlibc(files) {
  const output = mustRun('The versions of symbols could not be read.', 'readelf', [
    '--version-info',
    '--wide',
    ...files,
  ]);
  const versions = [...output.matchAll(/\bName: GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => [+major, +minor]);
  const [newest] = versions.sort((a, b) => b[0] - a[0] || b[1] - a[1]);
  return newest.join('.');
}

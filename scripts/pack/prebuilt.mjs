// What the archive of @sheaf/native has beside the addon, so that it runs where no library of it is installed.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addonPath } from '../setup/addon.mjs';
import { StepError, mustRun } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { neededGlibc, packedLibraries } from './libraries.mjs';
import { thirdPartyLicences } from './licences.mjs';

/** Folder that the addon's run path names, as in binding.gyp */
const folder = 'libraries';

/** Returns the files by their path in the package: libraries, their licences, and what the addon needs of a system. */
export function prebuiltFiles() {
  const addon = join(root, addonPath);
  checkRunPath(addon);
  const libraries = packedLibraries(addon);
  const needs = {
    platform: process.platform,
    arch: process.arch,
    glibc: neededGlibc([addon, ...libraries.map(({ path }) => path)]),
    libraries: libraries.map(({ name, package: owner, version }) => ({ name, package: owner, version })),
  };
  return new Map([
    ...libraries.map(({ name, path }) => [`build/Release/${folder}/${name}`, readFileSync(path)]),
    ['build/Release/prebuilt.json', `${JSON.stringify(needs, undefined, 2)}\n`],
    ['THIRD_PARTY_LICENSES', thirdPartyLicences(libraries)],
  ]);
}

/**
 * Libraries of Debian have no run path of their own, and stay as they are. The addon has a DT_RPATH, which also holds for the
 * libraries that its libraries need; a DT_RUNPATH would not (ld.so(8)).
 */
function checkRunPath(addon) {
  if (!existsSync(addon)) throw new StepError('The addon is not built.', { command: 'npm run setup' });
  const dynamic = mustRun('The addon could not be read.', 'readelf', ['--dynamic', addon]);
  if (!dynamic.includes(`(RPATH)              Library rpath: [$ORIGIN/${folder}]`))
    throw new StepError('The addon would not find packed libraries.', {
      cause: `it has no DT_RPATH with $ORIGIN/${folder}: an earlier binding.gyp built it`,
      command: 'npm run setup',
    });
}

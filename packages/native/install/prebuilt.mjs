// Whether the addon that a package brings is made for this system. `npm run pack` of the repository writes what it needs into
// prebuilt.json.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns a line that says what the packed addon needs and what this system is; undefined when it fits, or when there is none. */
export function describeMismatch(home, system = thisSystem()) {
  const file = join(home, 'build', 'Release', 'prebuilt.json');
  if (!existsSync(file)) return undefined;
  const needs = JSON.parse(readFileSync(file, 'utf8'));
  const fits =
    system.platform === needs.platform &&
    system.arch === needs.arch &&
    system.glibc !== undefined &&
    !isOlder(system.glibc, needs.glibc);
  if (fits) return undefined;
  const here = `${system.platform} ${system.arch} with ${system.glibc === undefined ? 'no glibc' : `glibc ${system.glibc}`}`;
  return `The packed addon needs ${needs.platform} ${needs.arch} with glibc ${needs.glibc} or newer; this system is ${here}.`;
}

function thisSystem() {
  // Names of the network's other machines are of no interest, and slow.
  process.report.excludeNetwork = true;
  const { glibcVersionRuntime: glibc } = process.report.getReport().header;
  return { platform: process.platform, arch: process.arch, glibc };
}

/** Compares versions of glibc, which have two numbers. */
function isOlder(version, wanted) {
  const [[major, minor], [wantedMajor, wantedMinor]] = [version, wanted].map((each) => each.split('.').map(Number));
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
}

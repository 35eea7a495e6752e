// `npm run pack`: packs the published packages into .sheaf/packed or the folder `--destination`, and prints their sizes.
// With `-- --install` it also installs them in an empty directory (with `--from-source`, it builds the addon there). It then
// prints how long that took, the installed size, and how soon `npx sheaf init && npx sheaf up` serves. `--npm 10.9.4`
// installs with that version of npm.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readTracked } from './checks/tracked_files.mjs';
import { listArchive, writeIntoArchive } from './pack/archive.mjs';
import { packDocuments } from './pack/documents.mjs';
import { measureFirstStart } from './pack/first_start.mjs';
import { prebuiltFiles } from './pack/prebuilt.mjs';
import { report } from './setup.mjs';
import { StepError, capture, mustRun } from './setup/process.mjs';
import { root } from './setup/stamp.mjs';

/** Packages of a node, and of `sheaf bench` in addition */
const node = ['native', 'web-client', 'gateway', 'cli'];
const all = [...node, 'bench'];

/** Packs the packages into a folder. Returns the archives by the short names of their packages. */
function pack(destination) {
  mkdirSync(destination, { recursive: true });
  for (const name of all) for (const earlier of archivesOf(name, destination)) rmSync(earlier);
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const filters = all.flatMap((name) => ['--filter', `@sheaf/${name}`]);
  // `npm pack` would leave `workspace:` in the dependencies.
  const packing = ['--yes', packageManager, '-r', ...filters, 'pack', '--pack-destination', destination];
  mustRun('The packages could not be packed.', 'npx', packing, root);
  const archives = Object.fromEntries(all.map((name) => [name, archivesOf(name, destination)[0]]));
  complete(archives);
  console.log(line('package', 'packed', 'unpacked', 'files'));
  for (const name of all) {
    const entries = listArchive(archives[name]);
    const unpacked = entries.reduce((sum, { size }) => sum + size, 0);
    console.log(line(`@sheaf/${name}`, kilobytes(statSync(archives[name]).size), kilobytes(unpacked), entries.length));
  }
  return archives;
}

const archivesOf = (name, folder) =>
  readdirSync(folder)
    .filter((file) => file.startsWith(`sheaf-${name}-`) && file.endsWith('.tgz'))
    .map((file) => join(folder, file));

/** Adds the documents, whose links lead to files that npm installs, and the libraries of the addon to the archives. */
function complete(archives) {
  const files = new Map(readTracked(root, /\.md$/).map(({ path, text }) => [path, text]));
  const shipped = new Map(all.map((name) => [name, new Set(listArchive(archives[name]).map(({ path }) => path))]));
  for (const name of all) {
    const documents = packDocuments(name, { files, shipped, dependencies: dependenciesOf(name) });
    writeIntoArchive(archives[name], [...documents, ...(name === 'native' ? prebuiltFiles() : [])]);
  }
}

function dependenciesOf(name) {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
  return Object.keys(dependencies ?? {}).flatMap((each) => /^@sheaf\/(.+)$/.exec(each)?.[1] ?? []);
}

async function install(archives, { fromSource, npm }) {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-pack-'));
  try {
    writeFileSync(join(directory, 'package.json'), '{ "private": true }');
    const options = ['install', '--no-audit', '--no-fund'];
    const files = (names) => names.map((name) => archives[name]);
    const started = performance.now();
    mustRun('The packages could not be installed.', ...npm([...options, ...files(node)]), directory);
    if (fromSource) buildAddon(directory, npm);
    console.log(`\ninstalled in ${seconds(started)}${fromSource ? ', with the addon built from its sources' : ''}`);
    console.log(`installed size: ${installedSize(directory)}`);
    const { elapsed, processor } = await measureFirstStart(directory);
    console.log(
      `npx sheaf init && npx sheaf up: ready after ${elapsed.toFixed(1)} s, processor time ${processor.toFixed(1)} s`,
    );
    const withBench = npm([...options, ...files(all)]);
    mustRun('@sheaf/bench could not be installed.', ...withBench, directory);
    console.log(`installed size with @sheaf/bench: ${installedSize(directory)}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Builds the addon. Since npm 12, npm runs a package's install script only if its user allowed that. */
function buildAddon(directory, npm) {
  const release = join(directory, 'node_modules', '@sheaf', 'native', 'build', 'Release');
  // Earlier versions have no such command, and need none.
  capture(...npm(['install-scripts', 'approve', '@sheaf/native']), { cwd: directory });
  const [command, args] = npm(['rebuild', '@sheaf/native']);
  mustRun('The addon did not build.', 'env', ['npm_config_build_from_source=true', command, ...args], directory);
  // A build leaves the addon alone, without packed libraries.
  if (readdirSync(release).join() !== 'sheaf.node')
    throw new StepError('The addon was not built.', { cause: '`npm rebuild` did not run its install script' });
}

function installedSize(directory) {
  const listing = capture('du', ['-sk', join(directory, 'node_modules')]) ?? '';
  const files = capture('find', [join(directory, 'node_modules'), '-type', 'f']) ?? '';
  return `${(Number.parseInt(listing) / 1024).toFixed(1)} MiB in ${files.trim().split('\n').length} files`;
}

const line = (name, ...numbers) => name.padEnd(20) + numbers.map((number) => String(number).padStart(12)).join('');
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;
const seconds = (started) => `${((performance.now() - started) / 1000).toFixed(1)} s`;

try {
  const { values } = parseArgs({
    options: {
      destination: { type: 'string', default: join(root, '.sheaf', 'packed') },
      install: { type: 'boolean' },
      'from-source': { type: 'boolean' },
      npm: { type: 'string' },
    },
  });
  const archives = pack(resolve(values.destination));
  const { npm: version, 'from-source': fromSource = false } = values;
  const npm = (args) => (version === undefined ? ['npm', args] : ['npx', ['--yes', `npm@${version}`, ...args]]);
  if (values.install || fromSource) await install(archives, { fromSource, npm });
} catch (error) {
  report(error);
}

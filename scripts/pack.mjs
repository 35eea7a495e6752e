// `npm run pack`: packs the published packages into .sheaf/packed, and prints their sizes. With `-- --install` it also
// installs them in an empty directory (with `--from-source`, it builds the addon there). It then prints how long that
// took, the installed size, and how soon `npx sheaf init && npx sheaf up` serves.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { report } from './setup.mjs';
import { StepError, capture, commandLine } from './setup/process.mjs';
import { root } from './setup/stamp.mjs';

/** Packages of a node, and of `sheaf bench` in addition */
const node = ['native', 'web-client', 'gateway', 'cli'];
const all = [...node, 'bench'];

const destination = join(root, '.sheaf', 'packed');

/** Packs the packages. Returns the archives by the short names of their packages. */
function pack() {
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination, { recursive: true });
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const filters = all.flatMap((name) => ['--filter', `@sheaf/${name}`]);
  // `npm pack` would leave `workspace:` in the dependencies.
  const packing = ['--yes', packageManager, '-r', ...filters, 'pack', '--pack-destination', destination];
  mustRun('The packages could not be packed.', 'npx', packing, root);
  console.log(line('package', 'packed', 'unpacked', 'files'));
  const archives = {};
  for (const name of all) {
    archives[name] = join(
      destination,
      readdirSync(destination).find((file) => file.startsWith(`sheaf-${name}-`)),
    );
    const entries = mustRun('An archive cannot be read.', 'tar', ['tvzf', archives[name]], root).trim().split('\n');
    const unpacked = entries.reduce((sum, entry) => sum + Number(entry.split(/\s+/)[2]), 0);
    console.log(line(`@sheaf/${name}`, kilobytes(statSync(archives[name]).size), kilobytes(unpacked), entries.length));
  }
  return archives;
}

async function install(archives, fromSource) {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-pack-'));
  try {
    writeFileSync(join(directory, 'package.json'), '{ "private": true }');
    const options = ['install', '--no-audit', '--no-fund', ...(fromSource ? ['--build-from-source'] : [])];
    const files = (names) => names.map((name) => archives[name]);
    const started = performance.now();
    mustRun('The packages could not be installed.', 'npm', [...options, ...files(node)], directory);
    if (fromSource) buildAddon(directory);
    console.log(`\ninstalled in ${seconds(started)}${fromSource ? ', with the addon built from its sources' : ''}`);
    console.log(`installed size: ${installedSize(directory)}`);
    console.log(`npx sheaf init && npx sheaf up: ready after ${await firstStart(directory)}`);
    mustRun(
      '@sheaf/bench could not be installed.',
      'npm',
      ['install', ...options.slice(1, 3), ...files(all)],
      directory,
    );
    console.log(`installed size with @sheaf/bench: ${installedSize(directory)}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Builds the addon. Recent versions of npm run a package's install script only if its user allowed that, but `npm
 * rebuild` runs it.
 */
function buildAddon(directory) {
  const target = join(directory, 'node_modules', '@sheaf', 'native', 'build');
  rmSync(target, { recursive: true, force: true });
  mustRun('The addon did not build.', 'npm', ['rebuild', '--build-from-source', '@sheaf/native'], directory);
  if (!readdirSync(join(target, 'Release')).includes('sheaf.node'))
    throw new StepError('The addon was not built.', { cause: '`npm rebuild` did not run its install script' });
}

/** Measures the time until both commands are done and the gateway serves, as a user sees it. */
async function firstStart(directory) {
  const started = performance.now();
  mustRun('`sheaf init` failed.', 'npx', ['sheaf', 'init'], directory);
  const configuration = join(directory, 'sheaf.yaml');
  // The ports of the example may be in use.
  writeFileSync(configuration, readFileSync(configuration, 'utf8').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:0'));
  const child = spawn('npx', ['sheaf', 'up'], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  try {
    for await (const text of createInterface({ input: child.stdout }))
      if (/ready in/.test(text)) return seconds(started);
    throw new StepError('`sheaf up` ended before it served.', { command: `cd ${directory} && npx sheaf up` });
  } finally {
    // npx forwards no signal, so end its whole process group.
    process.kill(-child.pid, 'SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  }
}

function installedSize(directory) {
  const listing = capture('du', ['-sk', join(directory, 'node_modules')]) ?? '';
  const files = capture('find', [join(directory, 'node_modules'), '-type', 'f']) ?? '';
  return `${(Number.parseInt(listing) / 1024).toFixed(1)} MiB in ${files.trim().split('\n').length} files`;
}

function mustRun(title, command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (status === 0) return stdout;
  throw new StepError(title, { cause: `${stdout}${stderr}`.trim(), command: commandLine(command, args) });
}

const line = (name, ...numbers) => name.padEnd(20) + numbers.map((number) => String(number).padStart(12)).join('');
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;
const seconds = (started) => `${((performance.now() - started) / 1000).toFixed(1)} s`;

try {
  const { values } = parseArgs({ options: { install: { type: 'boolean' }, 'from-source': { type: 'boolean' } } });
  const archives = pack();
  if (values.install || values['from-source']) await install(archives, values['from-source'] === true);
} catch (error) {
  report(error);
}

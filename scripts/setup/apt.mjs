// Installs system packages. libngtcp2 and libnghttp3 of Debian 12 are too old; their backports come from the mirror
// that the machine already uses.
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requirements } from '../../packages/native/install/requirements.mjs';
import { toolchain } from './interop.mjs';
import { StepError, capture, commandLine, progress, run } from './process.mjs';

/** Debian packages with their oldest sufficient version */
const transportLibraries = Object.fromEntries(
  requirements.filter(({ version }) => version).map(({ name, version }) => [name, version]),
);

const buildPackages = [...requirements.filter(({ version }) => !version).map(({ name }) => name), 'ccache'];
const browserPackages = ['chromium'];
const testPackages = [
  'cmake',
  'ninja-build',
  'libgtest-dev',
  // Erasure coding, which is not part of the addon yet
  'libisal-dev',
  'clang',
  'libclang-rt-14-dev',
  // Links in a tenth of the time
  'lld',
  'clang-format',
  'clang-tidy',
  'llvm',
  'python3-venv',
  'openssl',
  // Firefox, and `certutil`, which makes a profile trust an authority
  'firefox-esr',
  'libnss3-tools',
  // h2load, the benchmark's client over HTTP/2; a web server that it measures, and what a newer one is built with
  'nghttp2-client',
  'nginx-light',
  'libssl-dev',
  // What channels are measured beside, and what loses packets on their way
  'uftp',
  'libnorm-dev',
  'nftables',
  // The registry of a fleet
  'nats-server',
  // What units of systemd are checked with, what installs their filter of system calls, and what makes the minimal Debian of
  // `npm run image`
  'systemd',
  'python3-seccomp',
  'mmdebstrap',
];

/** Programs of ngtcp2 */
const testPrograms = { 'ngtcp2-client': '1.11', 'ngtcp2-server': '1.11' };

/** Toolchains for programs in Go and Rust, unless they are installed otherwise */
const toolchains = {
  go: { 'golang-go': '2:1.21', 'golang-src': '2:1.21' },
  cargo: { 'cargo-web': '1.95', 'rustc-web': '1.95' },
};

/** Returns the packages for a purpose (`build`, `demo` or `test`). */
export function requiredPackages(purpose) {
  const names = [...buildPackages];
  if (purpose !== 'build') names.push(...browserPackages);
  if (purpose !== 'test') return { plain: names, versioned: transportLibraries };
  names.push(...testPackages);
  const missing = Object.keys(toolchains).filter((name) => toolchain(name) === undefined);
  return {
    plain: names,
    versioned: Object.assign({}, transportLibraries, testPrograms, ...missing.map((name) => toolchains[name])),
  };
}

export async function installPackages(purpose) {
  const { plain, versioned } = requiredPackages(purpose);
  const release = readRelease();
  if (capture('dpkg-query', ['--version']) === undefined) {
    checkWithoutApt(release, plain, versioned);
    return;
  }
  const missing = missingPackages(plain, versioned);
  if (missing.length === 0) return;
  progress(`  missing: ${missing.join(' ')}`);
  const apt = await aptCommand(missing, versioned, release);
  await install(apt, missing, versioned, release);
  const still = missingPackages(plain, versioned);
  if (still.length > 0)
    throw failure(still, 'apt-get ended without an error, but these are not installed', apt, release);
}

function missingPackages(plain, versioned) {
  const names = [...plain, ...Object.keys(versioned)];
  const installed = new Map();
  // dpkg-query fails when a name is unknown, but still lists the others.
  const listing =
    capture('sh', [
      '-c',
      'dpkg-query -W -f \'${Package} ${db:Status-Status} ${Version}\\n\' "$@" 2>/dev/null || true',
      'sh',
      ...names,
    ]) ?? '';
  for (const line of listing.split('\n')) {
    const [name, status, version] = line.split(' ');
    if (status === 'installed') installed.set(name, version);
  }
  return names.filter((name) => !installed.has(name) || isOlder(installed.get(name), versioned[name]));
}

function isOlder(version, wanted) {
  return wanted !== undefined && capture('dpkg', ['--compare-versions', version, 'lt', wanted]) !== undefined;
}

async function aptCommand(missing, versioned, release) {
  if (process.getuid?.() === 0) return [];
  if (capture('sudo', ['-n', 'true']) !== undefined) return ['sudo'];
  if (process.stdin.isTTY && capture('sudo', ['--version']) !== undefined) {
    progress('  sudo asks for your password to install them.');
    if ((await run('sudo', ['-v'])) === 0) return ['sudo'];
  }
  const names = missing.map((name) =>
    isOlder(candidateVersion(name), versioned[name]) ? `${name}/${release.codename}-backports` : name,
  );
  throw new StepError('System packages are missing and this user may not install them.', {
    cause: 'neither root nor sudo',
    command: `npm run setup   # as root; it runs: apt-get install ${names.join(' ')}`,
  });
}

async function install(apt, missing, versioned, release) {
  const execute = (args) => {
    const [command, ...rest] = [
      ...apt,
      'env',
      'DEBIAN_FRONTEND=noninteractive',
      // Installs nginx without starting it as a service.
      'SYSTEMD_OFFLINE=1',
      'apt-get',
      '-o',
      'DPkg::Lock::Timeout=300',
      ...args,
    ];
    return run(command, rest);
  };
  const needed = missing.filter((name) => name in versioned);
  await execute(['update']);
  const suite = `${release.codename}-backports`;
  let fromBackports = needed.filter((name) => isOlder(candidateVersion(name), versioned[name]));
  if (fromBackports.length > 0) {
    const added = addBackports(apt, suite, release.codename);
    if (added !== undefined && (await execute(['update'])) !== 0) {
      removeSource(apt, added);
      throw failure(missing, `the mirror in use has no ${suite}`, apt, release);
    }
  }
  const names = missing.map((name) => (fromBackports.includes(name) ? `${name}/${suite}` : name));
  const code = await execute(['install', '-y', '--no-install-recommends', ...names]);
  if (code !== 0) throw failure(names, `apt-get ended with ${code}`, apt, release);
}

function candidateVersion(name) {
  const policy = capture('apt-cache', ['policy', name], { env: { ...process.env, LC_ALL: 'C' } }) ?? '';
  const version = /Candidate: (\S+)/.exec(policy)?.[1];
  return version === undefined || version === '(none)' ? '0' : version;
}

/** Adds the backports. Returns the path of the added source file; undefined when the suite was there already. */
function addBackports(apt, suite, codename) {
  const sources = readSources();
  if (sources.some((source) => source.suites.includes(suite))) return undefined;
  const main = sources.find((source) => source.suites.includes(codename) && source.components.includes('main'));
  if (main === undefined) return undefined;
  const lines = ['Types: deb', `URIs: ${main.uri}`, `Suites: ${suite}`, 'Components: main'];
  if (main.signedBy !== undefined) lines.push(`Signed-By: ${main.signedBy}`);
  const path = `/etc/apt/sources.list.d/sheaf-${suite}.sources`;
  progress(`  adding ${path} with the mirror that ${main.file} names`);
  writeAsRoot(apt, path, `${lines.join('\n')}\n`);
  return path;
}

function writeAsRoot(apt, path, text) {
  if (apt.length === 0) writeFileSync(path, text);
  else capture(apt[0], ['tee', path], { input: text });
}

function removeSource(apt, path) {
  if (apt.length === 0) rmSync(path, { force: true });
  else capture(apt[0], ['rm', '-f', path]);
}

/** Returns the enabled binary sources of /etc/apt: one-line (`sources.list`) and deb822 (`*.sources`). */
export function readSources(directory = '/etc/apt') {
  const files = [join(directory, 'sources.list')];
  const parts = join(directory, 'sources.list.d');
  if (existsSync(parts)) files.push(...readdirSync(parts).map((name) => join(parts, name)));
  return files
    .filter((file) => existsSync(file))
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      if (file.endsWith('.sources')) return parseDeb822(text, file);
      return file.endsWith('.list') ? parseOneLine(text, file) : [];
    });
}

function parseDeb822(text, file) {
  const paragraphs = text.replaceAll(/^#.*\n/gm, '').split(/\n\s*\n/);
  return paragraphs.flatMap((paragraph) => {
    const fields = {};
    for (const match of paragraph.matchAll(/^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)/gm))
      fields[match[1].toLowerCase()] = match[2].trim();
    const words = (name) => (fields[name] ?? '').split(/\s+/).filter(Boolean);
    if (fields.enabled === 'no' || !words('types').includes('deb')) return [];
    return words('uris').map((uri) => ({
      file,
      uri,
      suites: words('suites'),
      components: words('components'),
      signedBy: fields['signed-by'],
    }));
  });
}

function parseOneLine(text, file) {
  return [...text.matchAll(/^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)$/gm)].map((match) => ({
    file,
    uri: match[2],
    suites: [match[3]],
    components: match[4].split(/\s+/),
    signedBy: /signed-by=(\S+)/.exec(match[1] ?? '')?.[1],
  }));
}

function readRelease() {
  const text = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const field = (name) => new RegExp(`^${name}="?([^"\\n]*)`, 'm').exec(text)?.[1] ?? '';
  return { name: field('PRETTY_NAME') || process.platform, codename: field('VERSION_CODENAME') };
}

function checkWithoutApt(release, plain, versioned) {
  const missing = ['libngtcp2', 'libngtcp2_crypto_gnutls', 'gnutls', 'libnghttp3'].filter(
    (name) => capture('pkg-config', ['--exists', name]) === undefined,
  );
  if (missing.length === 0) return;
  throw new StepError(`Libraries are missing: ${missing.join(', ')}.`, {
    cause: `${release.name} has no apt; the set-up knows Debian 12`,
    command: `install by hand what Debian calls: ${[...plain, ...Object.keys(versioned)].join(' ')}`,
  });
}

function failure(names, cause, apt, release) {
  return new StepError(`Could not install: ${names.join(' ')}`, {
    cause: `${cause} (on ${release.name})`,
    command: commandLine([...apt, 'apt-get'].join(' ').split(' ')[0], [
      ...[...apt, 'apt-get'].slice(1),
      'install',
      '-y',
      ...names,
    ]),
  });
}

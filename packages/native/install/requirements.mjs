// Debian packages that the addon is built with, and how to see on any system that they are there.
import { spawnSync } from 'node:child_process';

const program = (name, command = name) => ({ name, isPresent: () => succeeds(`${command} --version`) });
const library = (name, module, version) => ({
  name,
  ...(version && { version }),
  isPresent: () => succeeds(`pkg-config --exists '${module}${version ? ` >= ${version}` : ''}'`),
});

/** Those with a `version` need at least this one: Debian 12 has older ones, and the right ones in its backports. */
export const requirements = [
  program('g++', process.env.CXX ?? 'g++'),
  program('make'),
  program('python3'),
  program('pkg-config'),
  library('libgnutls28-dev', 'gnutls'),
  library('libuv1-dev', 'libuv'),
  library('libngtcp2-dev', 'libngtcp2', '1.11'),
  library('libngtcp2-crypto-gnutls-dev', 'libngtcp2_crypto_gnutls', '1.11'),
  library('libnghttp3-dev', 'libnghttp3', '1.8'),
];

// Elsewhere packets are protected by GnuTLS, and repairs are computed without a library.
if (process.arch === 'x64') {
  requirements.push(library('libisal-dev', 'libisal'));
  requirements.push({
    name: 'libipsec-mb-dev',
    // The library has no file for pkg-config.
    isPresent: () => succeeds(`echo '#include <intel-ipsec-mb.h>' | ${process.env.CXX ?? 'g++'} -E -x c++ -`),
  });
}

function succeeds(command) {
  return spawnSync('/bin/sh', ['-c', command], { stdio: 'ignore' }).status === 0;
}

/** The lines of an error that names what is missing and installs it; undefined when nothing is. */
export function describeMissing() {
  const missing = requirements.filter(({ isPresent }) => !isPresent());
  if (missing.length === 0) return undefined;
  const named = missing.map(({ name, version }) => (version ? `${name} (${version} or newer)` : name));
  const plain = missing.filter(({ version }) => !version).map(({ name }) => name);
  const backported = missing.filter(({ version }) => version).map(({ name }) => name);
  return [
    `error: the addon of @sheaf/native cannot be built: ${named.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
    '  fix, on Debian 12:',
    ...(plain.length > 0 ? [`    apt-get install ${plain.join(' ')}`] : []),
    ...(backported.length > 0 ? [`    apt-get install -t bookworm-backports ${backported.join(' ')}`] : []),
    '    npm rebuild @sheaf/native',
  ].join('\n');
}

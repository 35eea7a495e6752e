import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../setup/stamp.mjs';

/** Runs the install script of a package without an addon, on a machine that has only these programs. */
function install(programs, environment = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-install-'));
  try {
    const home = join(directory, 'native');
    cpSync(join(root, 'packages', 'native', 'install'), join(home, 'install'), { recursive: true });
    const path = join(directory, 'bin');
    mkdirSync(path);
    for (const [name, script] of Object.entries(programs))
      writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const env = { PATH: path, ...environment };
    return spawnSync(process.execPath, [join(home, 'install', 'install.mjs')], { env, encoding: 'utf8' });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const everything = { 'g++': 'exit 0', make: 'exit 0', python3: 'exit 0', 'pkg-config': 'exit 0' };

test('a machine that lacks everything is told every Debian package and where newer ones are', () => {
  const { status, stderr } = install({});
  assert.equal(status, 1);
  assert.match(stderr, /^error: the addon of @sheaf\/native cannot be built: g\+\+, make, python3, pkg-config, /m);
  assert.match(stderr, /libngtcp2-dev \(1\.11 or newer\)/);
  assert.match(
    stderr,
    /^ {4}apt-get install g\+\+ make python3 pkg-config libgnutls28-dev libuv1-dev( libisal-dev libipsec-mb-dev)?$/m,
  );
  assert.match(
    stderr,
    /^ {4}apt-get install -t bookworm-backports libngtcp2-dev libngtcp2-crypto-gnutls-dev libnghttp3-dev$/m,
  );
  assert.match(stderr, /^ {4}npm rebuild @sheaf\/native$/m);
});

test('a library that is too old is the only one that is named', () => {
  const pkgConfig = 'case "$2" in "libnghttp3 >= 1.8") exit 1;; esac';
  const { status, stderr } = install({ ...everything, 'pkg-config': pkgConfig });
  assert.equal(status, 1);
  assert.match(stderr, /cannot be built: libnghttp3-dev \(1\.8 or newer\) is missing\n/);
  assert.match(stderr, /^ {4}apt-get install -t bookworm-backports libnghttp3-dev$/m);
  assert.doesNotMatch(stderr, /^ {4}apt-get install g/m);
});

test('with everything there, the next thing that is missing is node-gyp', () => {
  const { status, stderr } = install(everything);
  assert.equal(status, 1);
  assert.match(stderr, /^error: node-gyp is missing$/m);
  assert.match(stderr, /npm rebuild @sheaf\/native/);
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeMismatch } from '../../packages/native/install/prebuilt.mjs';
import { root } from '../setup/stamp.mjs';

/** Runs the install script of a package without an addon, on a machine that has only these programs. `needs`: what prebuilt.json says */
function install(programs, { environment = {}, needs } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-install-'));
  try {
    const home = join(directory, 'native');
    cpSync(join(root, 'packages', 'native', 'install'), join(home, 'install'), { recursive: true });
    if (needs !== undefined) {
      mkdirSync(join(home, 'build', 'Release'), { recursive: true });
      writeFileSync(join(home, 'build', 'Release', 'prebuilt.json'), JSON.stringify(needs));
    }
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

const { platform, arch } = process;

test('an addon for another processor, or for a newer glibc, is not tried: the script says what it needs and builds', () => {
  for (const [needs, told] of [
    [{ platform, arch: 'sparc', glibc: '2.1' }, `needs ${platform} sparc with glibc 2.1 or newer`],
    [{ platform, arch, glibc: '9.1' }, `needs ${platform} ${arch} with glibc 9.1 or newer`],
  ]) {
    const { status, stderr } = install({}, { needs });
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`^The packed addon ${told}; this system is ${platform} ${arch} with `, 'm'));
    assert.match(stderr, /^error: the addon of @sheaf\/native cannot be built: g\+\+, /m);
    assert.doesNotMatch(stderr, /does not load/);
  }
});

test('an addon for this system is tried, and its error is told', () => {
  const { stderr } = install({}, { needs: { platform, arch, glibc: '2.1' } });
  assert.match(stderr, /sheaf\.node does not load: Error: /);
  assert.doesNotMatch(stderr, /The packed addon needs/);
});

test('versions of glibc are compared by number, and a system without glibc does not fit', () => {
  const home = mkdtempSync(join(tmpdir(), 'sheaf-install-'));
  try {
    assert.equal(describeMismatch(home, { platform, arch, glibc: undefined }), undefined);
    mkdirSync(join(home, 'build', 'Release'), { recursive: true });
    const needs = { platform: 'linux', arch: 'x64', glibc: '2.34' };
    writeFileSync(join(home, 'build', 'Release', 'prebuilt.json'), JSON.stringify(needs));
    const on = (glibc) => describeMismatch(home, { platform: 'linux', arch: 'x64', glibc });
    for (const enough of ['2.34', '2.100', '3.0']) assert.equal(on(enough), undefined);
    for (const older of ['2.4', '2.33', '1.99'])
      assert.match(on(older), /glibc 2\.34 or newer; this system is linux x64/);
    assert.match(on(undefined), /this system is linux x64 with no glibc\.$/);
  } finally {
    rmSync(home, { recursive: true });
  }
});

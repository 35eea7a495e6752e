import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { checkNativeLayers } from '../checks/native_layers.mjs';
import { checkPackageLayers } from '../checks/package_layers.mjs';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sheaf-layers-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (files) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
};
const layers = { util: [], wire: ['util'], connection: ['wire'] };

test('an include of a lower folder, also through another, is allowed', () => {
  write({ 'util/time.h': '', 'wire/frame.h': '', 'connection/connection.h': '#include "util/time.h"\n#include "wire/frame.h"\n' });
  assert.deepEqual(checkNativeLayers(folder, layers), []);
});

test('an include of a higher folder is named with its line', () => {
  write({ 'connection/connection.h': '', 'wire/frame.h': '\n#include "connection/connection.h"\n' });
  assert.deepEqual(checkNativeLayers(folder, layers), ['wire/frame.h:2: wire/ may not include connection/ (layers.json)']);
});

test('a header that does not exist is named', () => {
  write({ 'wire/frame.h': '#include "util/gone.h"\n' });
  assert.match(checkNativeLayers(folder, layers)[0], /"util\/gone\.h" does not exist/);
});

test('a library is kept in its folder', () => {
  write({ 'wire/frame.h': '#include <ngtcp2/ngtcp2.h>\n', 'util/socket.h': '#include <sys/socket.h>\n' });
  const found = checkNativeLayers(folder, layers);
  assert.match(found[0], /util\/socket\.h:1: sockets/);
  assert.match(found[1], /wire\/frame\.h:1: ngtcp2/);
});

test('the clock is not read by a layer that takes time as an argument', () => {
  write({ 'connection/a.cc': 'auto now = std::chrono::steady_clock::now();\n', 'connection/b.cc': '// not steady_clock::now\n' });
  assert.equal(checkNativeLayers(folder, layers).length, 1);
});

test('files that include each other are a cycle', () => {
  write({ 'wire/a.h': '#include "wire/b.h"\n', 'wire/b.h': '#include "wire/a.h"\n' });
  assert.match(checkNativeLayers(folder, layers)[0], /include cycle: wire\/a\.h -> wire\/b\.h -> wire\/a\.h/);
});

test('a folder outside layers.json is named', () => {
  write({ 'misc/a.h': '' });
  assert.match(checkNativeLayers(folder, layers)[0], /misc\/ is not in layers\.json/);
});

const manifest = (dependencies = {}) => JSON.stringify({ dependencies });

test('packages import downwards, by name, what they declare', () => {
  write({
    'native/package.json': manifest(),
    'native/lib/index.ts': "import { x } from '@sheaf/gateway';\n",
    'gateway/package.json': manifest({ '@sheaf/native': '1' }),
    'gateway/src/index.ts': "import type { A } from '@sheaf/native';\nimport '../../native/lib/index.js';\nimport { b } from '@sheaf/native/src/b.js';\n",
    'cli/package.json': manifest(),
    'cli/src/index.ts': "const native = await import('@sheaf/native');\n",
  });
  const found = checkPackageLayers(folder, { native: [], gateway: ['native'], cli: ['native'] });
  assert.deepEqual(found, [
    'native/lib/index.ts:1: native may not import @sheaf/gateway',
    "gateway/src/index.ts:2: '../../native/lib/index.js' reaches into another package; import it by its name",
    "gateway/src/index.ts:3: '@sheaf/native/src/b.js' goes around the package's exports",
    "cli/src/index.ts:1: @sheaf/native is not in the package's dependencies",
  ]);
});

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { checkCircles, describeCircles } from '../checks/circles.mjs';
import { checkFolderLayers } from '../checks/folder_layers.mjs';
import { checkMirroredTests } from '../checks/mirrored_tests.mjs';
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
/** Has every folder of `layers`, and uses every permission. */
const whole = {
  'util/time.h': '',
  'wire/frame.h': '#include "util/time.h"\n',
  'connection/connection.h': '#include "wire/frame.h"\n',
};

test('an include of a lower folder, also through another, is allowed', () => {
  write({ ...whole, 'connection/connection.h': '#include "util/time.h"\n#include "wire/frame.h"\n' });
  assert.deepEqual(checkNativeLayers(folder, layers), []);
});

test('an include of a higher folder is named with its line', () => {
  write({ ...whole, 'wire/frame.h': '#include "util/time.h"\n#include "connection/connection.h"\n' });
  assert.deepEqual(checkNativeLayers(folder, layers), [
    'wire/frame.h:2: wire/ may not include connection/ (layers.json)',
  ]);
});

test('a header that does not exist is named', () => {
  write({ ...whole, 'wire/head.h': '#include "util/gone.h"\n' });
  const found = checkNativeLayers(folder, layers);
  assert.equal(found.length, 1);
  assert.match(found[0], /"util\/gone\.h" does not exist/);
});

test('a library is kept in its folder', () => {
  write({
    ...whole,
    'wire/protection.h': '#include <ngtcp2/ngtcp2.h>\n',
    'util/socket.h': '#include <sys/socket.h>\n',
  });
  const found = checkNativeLayers(folder, layers);
  assert.equal(found.length, 2);
  assert.match(found[0], /util\/socket\.h:1: sockets/);
  assert.match(found[1], /wire\/protection\.h:1: ngtcp2/);
});

test('the clock is not read by a layer that takes time as an argument', () => {
  write({
    ...whole,
    'connection/a.cc': 'auto now = std::chrono::steady_clock::now();\n',
    'connection/b.cc': '// not steady_clock::now\n',
  });
  assert.equal(checkNativeLayers(folder, layers).length, 1);
});

test('a permission that no include uses is named, and a folder that does not exist', () => {
  write({ ...whole, 'connection/connection.h': '#include "wire/frame.h"\n' });
  assert.deepEqual(checkNativeLayers(folder, { ...layers, connection: ['wire', 'util'], qlog: [] }), [
    'layers.json: connection/ may use util/ and does not',
    'layers.json: there is no folder qlog/',
  ]);
});

test('a folder outside layers.json is named', () => {
  write({ ...whole, 'misc/a.h': '' });
  assert.match(checkNativeLayers(folder, layers)[0], /misc\/ is not in layers\.json/);
});

const gatewayLayers = { values: [], http: ['values'], 'nodes/edge': ['http'], nodes: ['nodes/edge'] };
const wholeGateway = {
  'values/scalars.ts': '',
  'http/exchange.ts': "import type { Port } from '../values/scalars.js';\n",
  'nodes/edge/edge.ts': "import {\n  a,\n} from '../../http/exchange.js';\n",
  'nodes/start.ts': "export { Edge } from './edge/edge.js';\nconst port = await import('../values/scalars.js');\n",
  'index.ts': "export * from './nodes/start.js';\n",
};

test('imports of lower folders are allowed, each folder below another by itself', () => {
  write(wholeGateway);
  assert.deepEqual(checkFolderLayers(folder, gatewayLayers), []);
});

test('an import of a higher folder, or of the roof, is named with its line', () => {
  write({
    ...wholeGateway,
    'nodes/edge/path.ts': "\nimport { start } from '../start.js';\n",
    'values/port.ts': "import '../index.js';\n",
  });
  assert.deepEqual(checkFolderLayers(folder, gatewayLayers), [
    'nodes/edge/path.ts:2: nodes/edge/ may not import nodes/ (layers.json)',
    'values/port.ts:1: values/ may not import index.ts (layers.json)',
  ]);
});

test('a folder of imports that layers.json does not know is named, and a permission that nothing uses', () => {
  write({ ...wholeGateway, 'misc/a.ts': '' });
  assert.deepEqual(checkFolderLayers(folder, { ...gatewayLayers, nodes: ['nodes/edge', 'http'] }), [
    'misc/ is not in layers.json',
    'layers.json: nodes/ may use http/ and does not',
  ]);
});

/** A tree whose top folders form one layer with their subfolders, and one where each folder is a layer */
const together = (path) => ({ path, withSubfolders: true });
const each = (path) => ({ path, withSubfolders: false });

test('files that include or import each other are a circle', () => {
  write({
    'native/src/wire/a.h': '#include "wire/b.h"\n',
    'native/src/wire/b.h': '#include "wire/a.h"\n',
    'gateway/src/index.ts': "import './http/a.js';\n",
    'gateway/src/http/a.ts': "import './b.js';\n",
    'gateway/src/http/b.ts': "import type { C } from './c.js';\n",
    'gateway/src/http/c.ts': "export type { A } from './a.js';\n",
  });
  const circles = checkCircles(folder, [together('native/src'), each('gateway/src')]);
  assert.deepEqual(circles.found, [
    'native/src: circle wire/a.h -> wire/b.h -> wire/a.h',
    'gateway/src: circle http/a.ts -> http/b.ts -> http/c.ts -> http/a.ts',
  ]);
  assert.equal(describeCircles(circles), '2 circles in 2 folders, 6 files of 2 trees of sources');
});

test('folders that import each other are a circle, though no files do', () => {
  write({
    'native/src/path/path.h': '#include "recovery/loss.h"\n',
    'native/src/path/rtt.h': '',
    'native/src/recovery/loss.h': '#include "path/rtt.h"\n',
    'native/src/congestion/controller.cc': '#include "congestion/bbr/bbr.h"\n',
    'native/src/congestion/controller.h': '',
    'native/src/congestion/bbr/bbr.h': '#include "congestion/controller.h"\n',
  });
  const circles = checkCircles(folder, [together('native/src')]);
  assert.deepEqual(circles.found, ['native/src: circle path/ -> recovery/ -> path/']);
  assert.equal(describeCircles(circles), '1 circle in 3 folders, 6 files of 1 trees of sources');
});

test('a folder above its own folders is a folder of its own among imports', () => {
  write({
    'bench/src/pages/bench.ts': "import './real/visit.js';\n",
    'bench/src/pages/table.ts': '',
    'bench/src/pages/real/visit.ts': "import '../table.js';\n",
  });
  assert.deepEqual(checkCircles(folder, [each('bench/src')]).found, [
    'bench/src: circle pages/ -> pages/real/ -> pages/',
  ]);
});

test('a folder of tests without a folder of the source is named', () => {
  write({
    'src/nodes/edge/edge.ts': '',
    'test/nodes/edge/edge.test.ts': '',
    'test/support/site.ts': '',
    'test/interop/peers/a.test.ts': '',
    'test/gateway/a.test.ts': '',
  });
  assert.deepEqual(checkMirroredTests(folder, ['interop']), [
    'test/gateway/: there is no folder src/gateway/ that it tests',
  ]);
});

const manifest = (dependencies = {}) => JSON.stringify({ dependencies });

test('packages import downwards, by name, what they declare', () => {
  write({
    'native/package.json': manifest(),
    'native/lib/index.ts': "import { x } from '@sheaf/gateway';\n",
    'gateway/package.json': manifest({ '@sheaf/native': '1' }),
    'gateway/src/index.ts':
      "import type { A } from '@sheaf/native';\nimport '../../native/lib/index.js';\nimport { b } from '@sheaf/native/src/b.js';\n",
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

// Headers for the addon: Node-API's from the npm package node-api-headers and libuv's from the
// system. Both interfaces are stable across Node versions, so the build needs neither the headers of
// this very Node nor node-gyp's download of them, and a user's `nodedir` setting does not matter.
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { StepError, capture } from './process.mjs';
import { root } from './stamp.mjs';

/** Makes the prefix that node-gyp takes as `nodedir` and returns its path. */
export function assembleHeaders() {
  const prefix = join(root, '.sheaf', 'node-headers');
  const part = `${prefix}.part`;
  const target = join(part, 'include', 'node');
  rmSync(part, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  cpSync(nodeApiHeaders(), target, { recursive: true });
  for (const name of ['uv.h', 'uv']) cpSync(join(libuvIncludes(), name), join(target, name), { recursive: true });
  cpSync(join(import.meta.dirname, 'common.gypi'), join(target, 'common.gypi'));
  rmSync(prefix, { recursive: true, force: true });
  renameSync(part, prefix);
  return prefix;
}

const nodeApiHeaders = () => createRequire(join(root, 'packages/native/package.json'))('node-api-headers').include_dir;

function libuvIncludes() {
  const directory = capture('pkg-config', ['--variable=includedir', 'libuv'])?.trim();
  if (directory) return directory;
  throw new StepError('The headers of libuv are missing.', {
    cause: 'pkg-config does not know libuv',
    command: 'apt-get install libuv1-dev',
  });
}

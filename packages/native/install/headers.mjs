// Headers for the addon: Node-API's from the npm package node-api-headers and libuv's from the
// system. Both interfaces are stable across Node versions, so the build needs neither the headers of
// this very Node nor node-gyp's download of them, and a user's `nodedir` setting does not matter.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Makes the directory `prefix`, which node-gyp takes as `nodedir`. @throws Error where libuv's headers are missing */
export function assembleHeaders(prefix) {
  const part = `${prefix}.part`;
  const target = join(part, 'include', 'node');
  rmSync(part, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  cpSync(createRequire(import.meta.url)('node-api-headers').include_dir, target, { recursive: true });
  for (const name of ['uv.h', 'uv']) cpSync(join(libuvIncludes(), name), join(target, name), { recursive: true });
  cpSync(join(import.meta.dirname, 'common.gypi'), join(target, 'common.gypi'));
  rmSync(prefix, { recursive: true, force: true });
  renameSync(part, prefix);
}

const libuvIncludes = () =>
  execFileSync('pkg-config', ['--variable=includedir', 'libuv'], { encoding: 'utf8', stdio: 'pipe' }).trim();

// npm's install script. The package brings its addon; where that does not load (another processor,
// another system library) it is built from the sources, by the node-gyp that npm brings. In the
// repository scripts/setup.mjs builds it.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const addon = at('build/Release/sheaf.node');

if (!existsSync(at('../../scripts/setup.mjs')) && !loads()) build();

function loads() {
  try {
    createRequire(import.meta.url)(addon);
    return true;
  } catch (error) {
    console.error(`the shipped addon does not load: ${error.message}`);
    return false;
  }
}

function build() {
  const nodeGyp = process.env.npm_config_node_gyp;
  const result = nodeGyp
    ? spawnSync(process.execPath, [nodeGyp, 'rebuild'], { cwd: at('.'), stdio: 'inherit' })
    : { status: 1 };
  if (result.status === 0) {
    copyFileSync(at('build/Release/sheaf_candidate.node'), addon);
    if (loads()) return;
  }
  console.error(
    'The addon of @sheaf/native could not be built. On Debian 12 it needs, from bookworm-backports:\n' +
      '  apt-get install -t bookworm-backports libngtcp2-dev libngtcp2-crypto-gnutls-dev libnghttp3-dev\n' +
      'and: apt-get install g++ make python3 pkg-config libgnutls28-dev libipsec-mb-dev libuv1-dev',
  );
  process.exitCode = 1;
}

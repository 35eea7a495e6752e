// npm's install script. The package brings its addon with the libraries that it needs. Where that was made for another
// system or does not load, the script says why and builds the addon from the sources, by the node-gyp that npm brings; with
// `npm_config_build_from_source=true` it always does. In the repository scripts/setup.mjs builds the addon.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { assembleHeaders } from './headers.mjs';
import { describeMismatch } from './prebuilt.mjs';
import { describeMissing } from './requirements.mjs';

const home = join(import.meta.dirname, '..');
const built = join(home, 'build', 'Release', 'sheaf_candidate.node');
const addon = join(home, 'build', 'Release', 'sheaf.node');
const fromSource = process.env.npm_config_build_from_source === 'true';

if (!existsSync(join(home, '..', '..', 'scripts', 'setup.mjs')) && (fromSource || !runsHere())) {
  const problem = describeMissing() ?? build();
  if (problem !== undefined) {
    console.error(problem);
    process.exitCode = 1;
  }
}

/** Says why the packed addon does not run on this system. */
function runsHere() {
  const mismatch = describeMismatch(home);
  if (mismatch !== undefined) console.error(mismatch);
  return mismatch === undefined && loads(addon);
}

/** In a process of its own: this one could not load another file under the same name. */
function loads(file) {
  const { status, stderr } = spawnSync(process.execPath, ['-e', 'require(process.argv[1])', file], {
    encoding: 'utf8',
  });
  if (status !== 0) console.error(`${file} does not load: ${/^Error: .*$/m.exec(stderr)?.[0] ?? stderr.trim()}`);
  return status === 0;
}

/** Returns the lines of an error; undefined once the addon is built. */
function build() {
  const nodeGyp = process.env.npm_config_node_gyp;
  if (nodeGyp === undefined)
    return 'error: node-gyp is missing\n  fix: run `npm rebuild @sheaf/native`, which brings it';
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-build-'));
  try {
    const headers = join(directory, 'headers');
    assembleHeaders(headers);
    const { status } = spawnSync(process.execPath, [nodeGyp, 'configure', 'build', '--jobs', 'max'], {
      cwd: home,
      stdio: 'inherit',
      // npm's settings reach node-gyp as environment variables and win over its options.
      env: { ...process.env, npm_config_nodedir: headers },
    });
    if (status !== 0) return `error: the addon of @sheaf/native did not build (node-gyp ended with ${status})`;
    // It is tried apart from packed libraries, which may be of another system, and kept without what the compiler leaves,
    // which is four times as large.
    const kept = join(directory, 'sheaf.node');
    copyFileSync(built, kept);
    if (!loads(kept)) return 'error: the addon of @sheaf/native was built and does not load; the line above says why';
    rmSync(join(home, 'build'), { recursive: true });
    mkdirSync(dirname(addon), { recursive: true });
    copyFileSync(kept, addon);
    return undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

// Builds the Node addon. node-gyp makes build/Release/sheaf_candidate.node; after a load test in a process of its own,
// that is renamed to sheaf.node. A failed build leaves the earlier addon.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { assembleHeaders } from '../../packages/native/install/headers.mjs';
import { StepError, capture, commandLine, run } from './process.mjs';
import { root } from './stamp.mjs';

const native = join(root, 'packages', 'native');
export const addonPath = join('packages', 'native', 'build', 'Release', 'sheaf.node');

/** `refuseWarnings`: one of the compiler's is a failure, each time until it is gone. */
export async function buildAddon({ refuseWarnings = false } = {}) {
  const headers = join(root, '.sheaf', 'node-headers');
  assembleHeaders(headers);
  const nodeGyp = createRequire(join(native, 'package.json')).resolve('node-gyp/bin/node-gyp.js');
  const args = [nodeGyp, 'configure', 'build', '--jobs', String(cpus().length)];
  // npm's settings reach node-gyp as environment variables, which override its options.
  const settings = { npm_config_nodedir: headers, npm_config_loglevel: 'error' };
  const output = [];
  const code = await run(process.execPath, args, {
    cwd: native,
    // Its messages are read, in English.
    env: { ...compilers(), ...settings, LC_ALL: 'C' },
    onOutput: (part) => output.push(part),
  });
  if (code !== 0) {
    throw new StepError('The native addon did not build.', {
      cause: `node-gyp ended with ${code}; the message is above`,
      command: `cd packages/native && npm_config_nodedir=${headers} ${commandLine('node', args)}`,
    });
  }
  const warned = filesWithWarnings(Buffer.concat(output).toString());
  if (refuseWarnings && warned.length > 0) {
    // What was compiled is not compiled again, and would not be warned of.
    rmSync(join(native, 'build', 'Release', 'obj.target'), { recursive: true, force: true });
    throw new StepError('The native addon compiles with warnings.', {
      cause: `the compiler warns of ${warned.join(', ')}; its messages are above`,
    });
  }
  publish();
}

/** The files that messages of GCC or Clang are about, each once. */
export function filesWithWarnings(output) {
  const files = [...output.matchAll(/^(?:\.\.\/)*([^\s:]+):\d+(?::\d+)?: warning: /gm)].map(([, file]) => file);
  return [...new Set(files)];
}

function compilers() {
  return capture('ccache', ['--version']) === undefined ? {} : { CC: 'ccache cc', CXX: 'ccache c++' };
}

function publish() {
  const staged = join(native, 'build', 'Release', 'sheaf_candidate.node');
  const load = ['-e', 'require(process.argv[1])', staged];
  const { status, stderr } = spawnSync(process.execPath, load, { encoding: 'utf8' });
  if (status !== 0) {
    throw new StepError('The native addon was built but does not load.', {
      cause: /^Error: .*$/m.exec(stderr)?.[0] ?? stderr.trim(),
      command: commandLine(process.execPath, load),
    });
  }
  const target = join(root, addonPath);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(staged, `${target}.part`);
  renameSync(`${target}.part`, target);
}

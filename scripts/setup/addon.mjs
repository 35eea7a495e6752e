// The Node addon: node-gyp into build/Release/staging, a load test in a process of its own, then an
// atomic rename to build/Release/sheaf.node. A failed build leaves the addon that was there.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { StepError, capture, commandLine, progress, run } from './process.mjs';
import { root } from './stamp.mjs';

const native = join(root, 'packages', 'native');
export const addonPath = join('packages', 'native', 'build', 'Release', 'sheaf.node');

export async function buildAddon() {
  const headers = findNodeHeaders();
  progress(headers ? `  headers of Node ${process.version}: ${headers}/include/node` : '  headers of Node: node-gyp downloads them');
  const nodeGyp = createRequire(join(native, 'package.json')).resolve('node-gyp/bin/node-gyp.js');
  const args = [nodeGyp, 'configure', 'build', '--jobs', String(cpus().length), '--loglevel', 'warn'];
  if (headers !== undefined) args.push(`--nodedir=${headers}`);
  const code = await run(process.execPath, args, { cwd: native, env: buildEnvironment() });
  if (code !== 0) throw buildFailure(code, args, headers);
  publish();
}

/**
 * Prefix whose include/node holds the headers of exactly this Node: beside the executable, in npm's
 * `nodedir`, or where node-gyp keeps its downloads. Undefined when there is none. npm's setting alone
 * is not trusted: it may name a prefix without headers, or with those of another Node.
 */
export function findNodeHeaders() {
  const version = process.version.slice(1);
  const prefixes = [
    dirname(dirname(process.execPath)),
    process.env.npm_config_nodedir,
    capture('npm', ['config', 'get', 'nodedir'])?.trim(),
    '/usr',
    '/usr/local',
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'node-gyp', version),
  ];
  return prefixes.find((prefix) => prefix && headerVersion(prefix) === version && existsSync(join(prefix, 'include/node/common.gypi')));
}

function headerVersion(prefix) {
  const path = join(prefix, 'include', 'node', 'node_version.h');
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  return ['MAJOR', 'MINOR', 'PATCH'].map((part) => new RegExp(`#define NODE_${part}_VERSION (\\d+)`).exec(text)?.[1]).join('.');
}

function buildEnvironment() {
  const environment = { ...process.env, npm_config_nodedir: '' };
  if (capture('ccache', ['--version']) !== undefined) Object.assign(environment, { CC: 'ccache cc', CXX: 'ccache c++' });
  return environment;
}

function publish() {
  const staged = join(native, 'build', 'Release', 'staging', 'sheaf.node');
  if (capture(process.execPath, ['-e', 'require(process.argv[1])', staged]) === undefined) {
    throw new StepError('The addon was built but does not load.', {
      cause: 'a shared library is missing, or it is another version than its header',
      command: commandLine(process.execPath, ['-e', 'require(process.argv[1])', staged]),
    });
  }
  const target = join(root, addonPath);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(staged, `${target}.part`);
  renameSync(`${target}.part`, target);
}

function buildFailure(code, args, headers) {
  return new StepError('The native addon did not build.', {
    cause: headers === undefined
      ? `node-gyp ended with ${code}; no headers of Node ${process.version} are on this machine, and the download may have failed`
      : `node-gyp ended with ${code}; the compiler's message is above`,
    command: `cd packages/native && ${commandLine('node', args.slice(1).length ? args : [])}`,
  });
}

// A system of Debian 12 with its essential packages, Node and npm, in a folder. Programs in it have the network of this machine. All
// that is mounted for them is in a mount namespace of their own, and is gone when they have ended, however this script ends.
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { readSources } from '../setup/apt.mjs';
import { StepError, capture, commandLine } from '../setup/process.mjs';

const codename = 'bookworm';

/** Ends with the script that started it, and takes its children with it. */
const isolated = ['setpriv', '--pdeathsig', 'KILL', 'unshare', '--mount', '--propagation', 'private'];
const processes = ['--pid', '--fork', '--kill-child', '--mount-proc'];

/** Returns a command whose mounts and processes are gone as soon as it has ended or was killed. */
export const isolate = (command) => [...isolated, ...processes, ...command];

const devices = ['/dev/null', '/dev/zero', '/dev/urandom'];
const network = ['/etc/resolv.conf', '/etc/hosts'];

/** Returns why no such system can be made on this machine; undefined when it can. */
export function whyNoSystem() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it needs Linux on x86-64';
  if (process.getuid() !== 0) return 'it needs root, for chroot and for mounts';
  for (const program of ['mmdebstrap', 'unshare', 'setpriv'])
    if (capture('sh', ['-c', `command -v ${program}`]) === undefined)
      return `${program} is missing; run \`apt-get install mmdebstrap util-linux\``;
  if (mirror() === undefined) return `/etc/apt has no source for ${codename}`;
  const [command, ...args] = isolate(['true']);
  return capture(command, args) === undefined ? 'this system permits no namespaces of mounts and processes' : undefined;
}

/** Returns the line of the package source that this machine uses. */
function mirror() {
  const source = readSources().find(
    ({ suites, components }) => suites.includes(codename) && components.includes('main'),
  );
  if (source === undefined) return undefined;
  const key = source.signedBy === undefined ? '' : `[signed-by=${source.signedBy}] `;
  return `deb ${key}${source.uri} ${codename} main`;
}

/** Makes the system in a folder that does not exist yet. */
export async function makeSystem(system, signal) {
  const making = ['mmdebstrap', '--quiet', '--variant=essential', '--include=libstdc++6', codename, system, mirror()];
  await finish(isolate(making), signal);
  copyFileSync(process.execPath, join(system, 'usr/bin/node'));
  const npm = dirname(dirname(realpathSync(capture('sh', ['-c', 'command -v npm']).trim())));
  cpSync(npm, join(system, 'usr/lib/npm'), { recursive: true, dereference: true });
  for (const name of ['npm', 'npx']) {
    const program = join(system, 'usr/lib/npm/bin', `${name}-cli.js`);
    symlinkSync(relative(join(system, 'usr/bin'), program), join(system, 'usr/bin', name));
  }
}

/** Runs a command of this machine to its end. @throws StepError when it fails */
export async function finish(command, signal) {
  const child = spawn(command[0], command.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(process.stderr, { end: false });
  const code = await ended(child);
  if (code === 0) return;
  const title = `A command ended with ${code}; its message is above.`;
  throw new StepError(title, { command: commandLine(command[0], command.slice(1)) });
}

/**
 * Resolves with the exit code, or the name of the signal, when the program has ended and nobody holds its pipes any more. Rejects then
 * when it was aborted, or at once when it did not start.
 */
export function ended(child) {
  return new Promise((resolve, reject) => {
    let error;
    child.once('error', (reason) => {
      error = reason;
      if (child.pid === undefined) reject(reason);
    });
    child.once('close', (code, signal) => (error === undefined ? resolve(code ?? signal) : reject(error)));
  });
}

/** Starts a shell script in the folder /root of the system, with npm's configuration of this machine. */
export function startInside(system, script, signal) {
  const { files, environment } = npmConfiguration();
  const mounted = [...devices, ...network, ...files].filter((path) => existsSync(path));
  for (const path of mounted) {
    const place = join(system, path);
    mkdirSync(dirname(place), { recursive: true });
    if (!existsSync(place)) writeFileSync(place, '');
  }
  const shell = ['chroot', system, 'sh', '-ec', `cd /root\n${script}`];
  const [command, ...args] = isolate(['sh', '-ec', enter, 'sh', system, ...mounted, '--', ...shell]);
  return spawn(command, args, {
    stdio: ['ignore', 'pipe', process.stderr],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', ...environment },
    signal,
    killSignal: 'SIGKILL',
  });
}

/** Mounts files, which the system only reads, and /proc; then becomes the command behind `--`. */
const enter = `
system=$1
shift
while [ "$1" != -- ]; do
  mount --bind "$1" "$system$1"
  mount -o remount,bind,ro "$system$1"
  shift
done
shift
mount -t proc proc "$system/proc"
exec "$@"
`;

/** Returns the files that npm reads on this machine, and the variables that say how it reaches its registry. */
function npmConfiguration() {
  const setting = (name) => capture('npm', ['config', 'get', name])?.trim();
  const [user, global, authorities] = ['userconfig', 'globalconfig', 'cafile'].map(setting);
  const files = [user, global, authorities, process.env.NODE_EXTRA_CA_CERTS].filter((path) => path?.startsWith('/'));
  const chosen = /^(?:(?:https?|no)_proxy|NODE_EXTRA_CA_CERTS|npm_config_(?:registry|cafile|(?:https?-|no)?proxy))$/i;
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => chosen.test(name)));
  return {
    files: [...new Set(files)],
    environment: { ...environment, npm_config_userconfig: user, npm_config_globalconfig: global },
  };
}

/** Returns what is mounted in a folder, as this process sees it. */
export const mountsBelow = (folder) =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));

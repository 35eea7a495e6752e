// Directories with a minimal Debian and Node, in the place of the bases of an image, and commands that run in them.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StepError, commandLine, run } from '../setup/process.mjs';

const mirror = 'http://deb.debian.org/debian';

/** Makes a root directory with Debian 12, the Node of this process and its npm. @throws StepError */
export async function makeRoot(directory) {
  const args = ['--variant=apt', '--include=ca-certificates,libstdc++6', 'bookworm', directory, mirror];
  const code = await run('mmdebstrap', args).catch(() => undefined);
  if (code !== 0)
    throw new StepError('A minimal Debian could not be made.', {
      cause: code === undefined ? 'mmdebstrap is missing' : `mmdebstrap ended with ${code}; its message is above`,
      command: code === undefined ? 'apt-get install mmdebstrap   # as root' : commandLine('mmdebstrap', args),
    });
  cpSync(process.execPath, join(directory, 'usr/local/bin/node'));
  const npm = join(dirname(realpathSync(process.execPath)), '../lib/node_modules/npm');
  if (!existsSync(npm)) throw new StepError('npm is not beside Node.', { cause: `there is no ${npm}` });
  cpSync(npm, join(directory, 'usr/local/lib/node_modules/npm'), { recursive: true });
  for (const program of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${program}-cli.js`, join(directory, 'usr/local/bin', program));
  // Names and authorities of this machine, which a container engine would bring, too.
  cpSync('/etc/resolv.conf', join(directory, 'etc/resolv.conf'), { dereference: true });
  const authorities = 'etc/ssl/certs/ca-certificates.crt';
  cpSync(`/${authorities}`, join(directory, authorities), { dereference: true });
}

/**
 * Starts a command in a root directory, as a user and in a directory there. Its mounts and processes end with it: both have
 * namespaces of their own. The network is that of this machine.
 */
export function startIn(root, command, { user = '0:0', cwd = '/', stdio = 'inherit' } = {}) {
  // The shell stays: it is the first process of its namespace, and the kernel ends all others with it. A program that changes its
  // user would outlive its parent.
  const script =
    'mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && chroot --userspec="$2" "$1" /bin/sh -c "cd $3 && $4"; exit $?';
  const inRoot = ['sh', '-c', script, 'sh', root, user, cwd, command];
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    DEBIAN_FRONTEND: 'noninteractive',
  };
  for (const name of ['NODE_EXTRA_CA_CERTS', 'http_proxy', 'https_proxy'])
    if (process.env[name] !== undefined) env[name] = process.env[name];
  return spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', ...inRoot], { env, stdio });
}

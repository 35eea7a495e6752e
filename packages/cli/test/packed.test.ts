import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { temporaryDirectory } from './support/world.js';

const execute = promisify(execFile);
const packages = ['native', 'web-client', 'gateway', 'bench', 'cli'];

/** The oldest Node that is supported, and the later lines with long-term support. */
const nodes = { oldest: '20.19.5', node22: '22', node24: '24' };

async function packedInstallation(): Promise<string> {
  const directory = await temporaryDirectory();
  const [tarballs, app] = [join(directory, 'tarballs'), join(directory, 'app')];
  await Promise.all([mkdir(tarballs), mkdir(app)]);
  const { packageManager } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as { packageManager: string };
  for (const name of packages) {
    const cwd = fileURLToPath(new URL(`../../${name}/`, import.meta.url));
    await execute('npx', ['--yes', packageManager, 'pack', '--pack-destination', tarballs], { cwd });
  }
  await writeFile(join(app, 'package.json'), '{ "private": true }');
  const files = (await readdir(tarballs)).map((file) => join(tarballs, file));
  const runtimes = Object.entries(nodes).map(([alias, version]) => `${alias}@npm:node-${process.platform}-${process.arch}@${version}`);
  await execute('npm', ['install', '--no-audit', '--no-fund', ...files, ...runtimes], { cwd: app });
  return app;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('the packed packages, installed with npm in an empty directory', () => {
  it('give a working sheaf on every supported Node', { timeout: 300_000 }, async () => {
    const app = await packedInstallation();
    const program = join(app, 'node_modules', '.bin', 'sheaf');
    await execute(program, ['init'], { cwd: app });
    const [port, admin] = [await freePort(), await freePort()];
    const configuration = await readFile(join(app, 'sheaf.yaml'), 'utf8');
    await writeFile(join(app, 'sheaf.yaml'), configuration.replace('127.0.0.1:4433', `127.0.0.1:${port}`).replace('127.0.0.1:9433', `127.0.0.1:${admin}`));

    for (const alias of Object.keys(nodes)) {
      const node = join(app, 'node_modules', alias, 'bin', 'node');
      const gateway = spawn(node, [program, 'up', 'sheaf.yaml'], { cwd: app });
      onTestFinished(() => void gateway.kill('SIGKILL'));
      const closed = once(gateway, 'close');
      let output = '';
      gateway.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      gateway.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await vi.waitFor(() => expect(output).toMatch(/ready|error/), 60_000);
      const { stdout } = await execute(node, [program, 'fetch', '--insecure', `https://127.0.0.1:${port}/`], { cwd: app });
      expect(stdout).toContain('It works');
      gateway.kill('SIGTERM');
      expect(await closed, output).toEqual([0, null]);
    }
  });
});

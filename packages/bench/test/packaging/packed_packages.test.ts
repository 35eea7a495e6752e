import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../src/process/service.js';
import { json, startProgram } from '../interop/programs.js';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..', '..');
/** The oldest that is supported, and the long-term versions after it. */
const nodeVersions = ['20.19.5', '22', '24'];

let directory: string;
let installed: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-packed-'));
  installed = join(directory, 'installed');
  mkdirSync(installed);
  const { packageManager } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    packageManager: string;
  };
  for (const name of ['native', 'gateway', 'web-client', 'bench', 'cli']) {
    await run('npx', ['--yes', packageManager, 'pack', '--pack-destination', directory], {
      cwd: join(root, 'packages', name),
    });
  }
  writeFileSync(join(installed, 'package.json'), '{ "private": true }');
  const archives = readdirSync(directory).filter((name) => name.endsWith('.tgz'));
  await run('npm', ['install', '--no-audit', '--no-fund', ...archives.map((name) => join(directory, name))], {
    cwd: installed,
  });
}, 300_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Moves what `sheaf init` wrote to ports that are free. */
async function initialize(): Promise<number> {
  rmSync(join(installed, 'sheaf.yaml'), { force: true });
  rmSync(join(installed, 'site'), { recursive: true, force: true });
  await run('npx', ['sheaf', 'init'], { cwd: installed });
  const port = await freePort();
  const text = await readFile(join(installed, 'sheaf.yaml'), 'utf8');
  writeFileSync(
    join(installed, 'sheaf.yaml'),
    text.replace(/127\.0\.0\.1:4433/, `127.0.0.1:${port}`).replace(/127\.0\.0\.1:9433/, '127.0.0.1:0'),
  );
  return port;
}

const sheaf = (): string => join(installed, 'node_modules', '@sheaf', 'cli', 'bin', 'sheaf.js');

async function servesItsFirstPage(node: string): Promise<void> {
  const port = await initialize();
  const gateway = await startProgram(node, [sheaf(), 'up', join(installed, 'sheaf.yaml')], /ready/);
  try {
    const page = await readFile(join(installed, 'site', 'index.html'));
    expect(await json(node, [sheaf(), 'fetch', `https://127.0.0.1:${port}/`, '--insecure', '--json'])).toMatchObject({
      status: 200,
      bytes: page.length,
      alpn: 'h3',
    });
  } finally {
    expect(await gateway.stop()).toBe(0);
  }
}

describe('packed packages, installed with npm in an empty directory', () => {
  test('serve the page that `sheaf init` wrote', async () => {
    await servesItsFirstPage(process.execPath);
  });

  test.each(nodeVersions)(
    'run the same addon on Node %s',
    async (version) => {
      const home = join(directory, `node-${version}`);
      mkdirSync(home);
      writeFileSync(join(home, 'package.json'), '{ "private": true }');
      // What the npm package `node` installs by its script.
      const binary = `node-${process.platform}-${process.arch}`;
      const { stdout } = await run('npm', ['view', `node@${version}`, 'version', '--json']);
      const versions = JSON.parse(stdout) as string | string[];
      const newest = Array.isArray(versions) ? versions.at(-1) : versions;
      await run('npm', ['install', '--no-audit', '--no-fund', `${binary}@${newest ?? version}`], { cwd: home });
      const node = join(home, 'node_modules', binary, 'bin', 'node');
      expect((await run(node, ['--version'])).stdout).toMatch(new RegExp(`^v${version.replaceAll('.', '\\.')}`));
      await servesItsFirstPage(node);
    },
    300_000,
  );
});

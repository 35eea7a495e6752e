import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '@sheaf/gateway/client';
import { json, startProgram } from '../interop/programs.js';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..', '..');
/** What runs a node of Sheaf. The archive of `native` holds the addon that this checkout built. */
const node = ['native', 'web-client', 'gateway', 'cli'];
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
  const filters = node.flatMap((name) => ['--filter', `@sheaf/${name}`]);
  await run('npx', ['--yes', packageManager, '-r', ...filters, 'pack', '--pack-destination', directory], { cwd: root });
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

/** Runs `sheaf` to an end that is an error, and returns what it says. */
async function refused(...args: string[]): Promise<{ code: number; stderr: string }> {
  return run(process.execPath, [sheaf(), ...args], { cwd: installed }).then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error as { code: number; stderr: string },
  );
}

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

  test('bring no experiments, no laboratory, no tests and no Playwright', async () => {
    const modules = join(installed, 'node_modules');
    const names = [...readdirSync(modules), ...readdirSync(join(modules, '@sheaf'))];
    expect(names).toEqual(expect.arrayContaining(['cli', 'gateway', 'native', 'web-client']));
    expect(names.filter((name) => /^bench$|playwright|puppeteer|vitest/.test(name))).toEqual([]);
    for (const name of node) expect(existsSync(join(modules, '@sheaf', name, 'test'))).toBe(false);
    const folders = readdirSync(join(modules, '@sheaf', 'native', 'src'));
    expect(folders).toContain('connection');
    expect(folders).not.toContain('sim');
  });

  test.each([
    ['sheaf bench', ['bench', 'engine']],
    ['sheaf record', ['record', 'shop.har', '-o', 'pages']],
    ['sheaf demo --once', ['demo', '--once']],
  ])('say how to get `%s`', async (command, args) => {
    expect(await refused(...args)).toMatchObject({
      code: 3,
      stderr:
        `error[BENCH_UNAVAILABLE]: \`${command}\` needs @sheaf/bench, which is not installed\n` +
        '  hint: run: npm install @sheaf/bench@0.1.0\n',
    });
  });

  test('run the examples of the transport where a user copies them to', async () => {
    const examples = join(installed, 'examples');
    cpSync(join(installed, 'node_modules', '@sheaf', 'native', 'examples'), examples, { recursive: true });
    const [certificate, key] = [join(installed, 'certificate.pem'), join(installed, 'key.pem')];
    // As http3_server.mjs tells its reader.
    const request = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 10 -subj /CN=localhost';
    const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate];
    await run('openssl', ['req', ...request.split(' '), ...names]);
    const server = await startProgram(
      process.execPath,
      [join(examples, 'http3_server.mjs'), certificate, key, '0'],
      /:/,
    );
    try {
      const port = /:(\d+)\/$/.exec(server.line)![1]!;
      const client = await run(process.execPath, [join(examples, 'http3_client.mjs'), certificate, port]);
      expect(client.stdout).toContain('200 GET /hello with 0 bytes, over HTTP/3');
    } finally {
      await server.stop();
    }
    for (const [name, shown] of [
      ['two_paths', '20000000 bytes of the body'],
      ['webtransport_echo', 'echoed: in a datagram'],
    ] as const)
      expect((await run(process.execPath, [join(examples, `${name}.mjs`), certificate, key])).stdout).toContain(shown);
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
    900_000,
  );
});

import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '@sheaf/gateway/client';
import { json, startProgram } from '../interop/programs.js';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..', '..');
/** What runs a node of Sheaf. The archive of `native` holds the addon that this checkout built, and its libraries. */
const node = ['native', 'web-client', 'gateway', 'cli'];
/** The oldest that is supported, and the long-term versions after it. */
const nodeVersions = ['20.19.5', '22', '24'];

let directory: string;
let installed: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-packed-'));
  installed = join(directory, 'installed');
  mkdirSync(installed);
  await run(process.execPath, [join(root, 'scripts', 'pack.mjs'), '--destination', directory], { cwd: root });
  writeFileSync(join(installed, 'package.json'), '{ "private": true }');
  const archives = readdirSync(directory).filter((name) => node.some((each) => name.startsWith(`sheaf-${each}-`)));
  await run('npm', ['install', '--no-audit', '--no-fund', ...archives.map((name) => join(directory, name))], {
    cwd: installed,
    env: { ...process.env, PATH: await withoutCompilers() },
  });
}, 300_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Returns a PATH that has Node, npm and a shell, and nothing that builds. */
async function withoutCompilers(): Promise<string> {
  const programs = join(directory, 'programs');
  mkdirSync(programs);
  for (const name of ['npm', 'npx', 'sh']) {
    const { stdout } = await run('sh', ['-c', `command -v ${name}`]);
    symlinkSync(realpathSync(stdout.trim()), join(programs, name));
  }
  symlinkSync(process.execPath, join(programs, 'node'));
  return programs;
}

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

const packedNative = (): string => join(installed, 'node_modules', '@sheaf', 'native');

interface Prebuilt {
  glibc: string;
  libraries: { name: string; package: string; version: string }[];
}

const prebuilt = async (): Promise<Prebuilt> =>
  JSON.parse(await readFile(join(packedNative(), 'build', 'Release', 'prebuilt.json'), 'utf8')) as Prebuilt;

describe('packed packages, installed with npm in an empty directory', () => {
  test('load the addon with the packed libraries alone', async () => {
    const show = [
      "import { readFileSync } from 'node:fs';",
      "import { loadAddon } from '@sheaf/native';",
      'loadAddon();',
      "console.log(readFileSync('/proc/self/maps', 'utf8'));",
    ].join('\n');
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', show], { cwd: installed });
    const mapped = [...new Set([...stdout.matchAll(/ (\/\S+\.(?:so[.\d]*|node))$/gm)].map((match) => match[1]!))];
    const release = join(realpathSync(packedNative()), 'build', 'Release');
    const { libraries } = await prebuilt();
    const packed = [join(release, 'sheaf.node'), ...libraries.map(({ name }) => join(release, 'libraries', name))];
    expect(mapped.filter((path) => path.startsWith(release)).sort()).toEqual(packed.sort());
    // The C library and the compiler's runtime are what Node itself needs.
    const others = mapped.filter((path) => !path.startsWith(release)).map((path) => path.split('/').at(-1));
    expect(others.filter((name) => !/^(?:ld-linux|lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so)/.test(name!))).toEqual(
      [],
    );
  });

  test('need no newer glibc than that of Debian 12', async () => {
    const [major, minor] = (await prebuilt()).glibc.split('.').map(Number);
    expect(major).toBe(2);
    expect(minor).toBeLessThanOrEqual(36);
  });

  test('list every library with its version and its licence', async () => {
    const text = await readFile(join(packedNative(), 'THIRD_PARTY_LICENSES'), 'utf8');
    const { libraries } = await prebuilt();
    expect(libraries.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['libgnutls.so.30', 'libnettle.so.8', 'libngtcp2.so.16', 'libnghttp3.so.9']),
    );
    for (const { name, package: owner, version } of libraries)
      expect(text).toContain(`  ${name} (package ${owner} ${version})\n`);
    expect(text.match(/^ {2}licence: \S/gm)?.length).toBe(text.match(/^Copyright and licences of /gm)?.length);
    expect(text).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
  });

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

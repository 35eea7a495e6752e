import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { chooseNginx, describeNginx, versionOf, whatNginxLacks } from '../../src/http/nginx.js';
import { configureOptions, lockedNginx } from '../../src/http/nginx_build.js';
import { nginxFilesConfiguration } from '../../src/http/nginx_files.js';

const build = (version: string, options: string): string =>
  `nginx version: nginx/${version}\nbuilt with OpenSSL 3.0.22\nTLS SNI support enabled\nconfigure arguments: ${options}\n`;

/** Writes a program that describes itself as an nginx does. Returns its path. */
async function program(version: string, options: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-nginx-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'nginx');
  await writeFile(path, `#!/bin/sh\ncat >&2 <<'END'\n${build(version, options)}END\n`);
  await chmod(path, 0o755);
  return path;
}

test('an nginx with both modules is measured over both protocols', () => {
  const options = '--with-http_v2_module --with-http_v3_module';
  expect(describeNginx(build('1.29.3', options))).toEqual({
    version: '1.29.3',
    options,
    http2Directive: true,
    reasons: {},
  });
});

test("Debian 12's is measured over HTTP/2 alone, and says why", () => {
  expect(describeNginx(build('1.22.1', '--with-http_v2_module'))).toEqual({
    version: '1.22.1',
    options: '--with-http_v2_module',
    http2Directive: false,
    reasons: { h3: 'nginx 1.22.1 is built without HTTP/3, which came with 1.25' },
  });
});

test.each([
  ['1.25.0', false],
  ['1.25.1', true],
  ['2.0.0', true],
])('nginx %s has the directive http2: %s', (version, has) => {
  expect(describeNginx(build(version, '')).http2Directive).toBe(has);
});

test('the version is that of the package only if the program is of the package', () => {
  expect(versionOf({ version: '1.22.1', options: '-O2' }, '1.22.1-9+deb12u3')).toBe('1.22.1-9+deb12u3');
  expect(versionOf({ version: '1.29.3', options: '-O2' }, '1.22.1-9+deb12u3')).toBe('1.29.3 (-O2)');
  expect(versionOf({ version: '1.29.3', options: '-O2' }, undefined)).toBe('1.29.3 (-O2)');
});

test('the one that was built comes first, if it has the present options', async () => {
  const built = await program('1.28.3', configureOptions.join(' '));
  const outdated = await program('1.28.3', '--with-http_ssl_module');
  const installed = await program('1.22.1', '--with-http_v2_module');
  const chosen = await chooseNginx({ built: [built], installed: [installed] }, 'no reason');
  expect(chosen).toEqual({
    command: built,
    version: `1.28.3 (${configureOptions.join(' ')})`,
    http2Directive: true,
    reasons: {},
  });
  const fallback = await chooseNginx({ built: [outdated], installed: [installed] }, 'cargo is not installed');
  expect(fallback.command).toBe(installed);
  expect(fallback.reason).toContain('a current nginx was not built: cargo is not installed');
  expect(whatNginxLacks(fallback, ['h3'])).toContain('built without HTTP/3');
});

test('without any, neither protocol is measured, and the reason names a fix', async () => {
  const none = await chooseNginx({ built: [], installed: [] }, 'cargo is not installed');
  expect(none.command).toBe('');
  expect(whatNginxLacks(none, ['h2', 'h3'])).toBe(
    'cargo is not installed, and none is installed (npm run setup, or apt-get install nginx-light)',
  );
});

test('the version that is built is the one in the lock file, and is new enough for HTTP/3', async () => {
  expect(await lockedNginx()).toMatch(/^1\.(?:2[89]|[3-9]\d)\.\d+$/);
});

test('a file server keeps files open, and sends segments at once', () => {
  const configuration = nginxFilesConfiguration({ port: 4433, files: '/srv' });
  for (const line of ['root /srv;', 'open_file_cache max=100;', 'quic_gso on;', 'master_process off;'])
    expect(configuration).toContain(line);
});

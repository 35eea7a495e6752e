import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

const directory = mkdtempSync(join(tmpdir(), 'sheaf-examples-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const [certificate, key] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')];
// As http3_server.mjs tells its reader.
execFileSync(
  'openssl',
  `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 10 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${certificate}`.split(
    ' ',
  ),
  { stdio: 'pipe' },
);

const program = (name: string): string => fileURLToPath(new URL(`../examples/${name}.mjs`, import.meta.url));
const outputOf = async (name: string, ...options: string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [program(name), ...options])).stdout;

test("the README's first lines are a server", async () => {
  const lines = /```js\n([^]*?)```/.exec(readFileSync(new URL('../README.md', import.meta.url), 'utf8'))![1]!;
  expect(lines.trim().split('\n')).toHaveLength(9);
  // A port that is free, and told.
  const told = lines
    .replace('port: 4433', 'port: 0')
    .replace('await server.listen()', 'console.log((await server.listen()).port)');
  expect(told).not.toMatch(/4433|^await server/m);
  const modules = join(directory, 'node_modules', '@sheaf');
  mkdirSync(modules, { recursive: true });
  symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(modules, 'native'));
  const server = spawn(process.execPath, ['--input-type=module', '-e', told], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [port] = (await once(createInterface(server.stdout), 'line')) as [string];
    expect(await outputOf('http3_client', certificate, port)).toBe(
      '200 You asked for /hello\n200 You asked for /upload\n',
    );
  } finally {
    server.kill('SIGKILL');
  }
});

test('http3_client sends requests to http3_server', async () => {
  const server = spawn(process.execPath, [program('http3_server'), certificate, key, '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(server, 'exit');
  try {
    const [listening] = (await once(createInterface(server.stdout), 'line')) as [string];
    const port = /^Listening on https:\/\/localhost:(\d+)\/$/.exec(listening)![1]!;
    expect(await outputOf('http3_client', certificate, port)).toBe(
      '200 GET /hello with 0 bytes, over HTTP/3\n200 POST /upload with 100000 bytes, over HTTP/3\n',
    );
  } finally {
    server.kill('SIGINT');
  }
  expect(await exit).toEqual([0, null]);
});

test('two_paths receives over both', async () => {
  const lines = (await outputOf('two_paths', certificate, key)).trim().split('\n');
  expect(lines[0]).toBe('20000000 bytes of the body');
  const received = lines.slice(1).map((line) => Number(/(\d+) bytes$/.exec(line)![1]));
  expect(received).toHaveLength(2);
  for (const bytes of received) expect(bytes).toBeGreaterThan(1_000_000);
});

test('webtransport_echo hears its stream and its datagram again', async () => {
  expect(await outputOf('webtransport_echo', certificate, key)).toBe(
    "echoed: over a stream\nechoed: in a datagram\nclosed: { closeCode: 0, reason: 'done' }\n",
  );
});

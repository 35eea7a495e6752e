// Firefox as the client of the proxy for UDP: an extension names the proxy, and a page of another server comes through it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@sheaf/gateway/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Firefox } from '../../src/browser/firefox.js';
import { makeCertificates } from './authority.js';
import { launchProxiedFirefox } from './firefox_browser.js';
import { sheaf, startProgram, type RunningProgram } from './programs.js';
import { patternBytes, sha256 } from './site.js';

const body = patternBytes(300_000);

let directory: string;
let program: RunningProgram;
let firefox: Firefox;
let server: number;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-firefox-masque-'));
  const certificates = makeCertificates(directory);
  for (const name of ['site', 'extension']) mkdirSync(join(directory, name));
  writeFileSync(join(directory, 'site', 'body.bin'), body);
  writeFileSync(join(directory, 'site', 'index.html'), '<!doctype html><title>through a tunnel</title>');
  writeFileSync(join(directory, 'users.txt'), 'ann:her password\n', { mode: 0o600 });
  const proxy = await freePort();
  server = await freePort();
  const configuration = join(directory, 'sheaf.yaml');
  const tls = `{ cert: ${certificates.certificate}, key: ${certificates.key} }`;
  writeFileSync(
    configuration,
    `nodes:
  server: { role: gateway, listen: "127.0.0.1:${server}", tls: ${tls}, log: { level: warn }, routes: [{ files: site }] }
  proxy:
    role: gateway
    listen: 127.0.0.1:${proxy}
    tls: ${tls}
    log: { file: proxy.log }
    limits: { idle: 3s }
    routes: [{ path: /.well-known/masque/udp/, connect_udp: { allow: "127.0.0.1:${server}", users: users.txt } }]
`,
  );
  program = await startProgram(sheaf, ['up', configuration], /ready/);
  firefox = await launchProxiedFirefox({
    authority: certificates.authority,
    host: '127.0.0.1',
    http3Port: server,
    proxyPort: proxy,
    credentials: `Basic ${Buffer.from('ann:her password').toString('base64')}`,
    extension: join(directory, 'extension'),
  });
}, 120_000);

afterAll(async () => {
  await firefox.stop();
  expect(await program.stop()).toBe(0);
  rmSync(directory, { recursive: true, force: true });
});

/** Runs in the page. Returns the hash of a body, and the protocol that brought it. */
const loadInPage = `(async () => {
  const bytes = await (await fetch('/body.bin')).arrayBuffer();
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const [timing] = performance.getEntriesByName(new URL('/body.bin', location).href);
  return [[...hash].map((byte) => byte.toString(16).padStart(2, '0')).join(''), timing.nextHopProtocol];
})()`;

it('a page of another server comes over HTTP/3 in a tunnel', async () => {
  const page = await firefox.browser.newPage();
  await page.goto(`https://127.0.0.1:${server}/`);
  expect(await page.title()).toBe('through a tunnel');
  expect(await page.evaluate(loadInPage)).toEqual([sha256(body), 'h3']);
  await page.close();
  // Firefox does not close its connections, whose tunnels end with them.
  await firefox.stop();
  await expect
    .poll(() => readFileSync(join(directory, 'proxy.log'), 'utf8').trim().split('\n'))
    .toContainEqual(expect.stringContaining('"msg":"tunnel ended"'));
  const lines = readFileSync(join(directory, 'proxy.log'), 'utf8').trim().split('\n');
  const tunnels = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'tunnel ended');
  expect(tunnels[0]).toMatchObject({ user: 'ann', target: `127.0.0.1:${server}` });
  expect(Number(tunnels[0]?.['bytesToClient'])).toBeGreaterThan(body.length);
}, 120_000);

// Sheaf as the client of proxies for UDP: masque-go's, and its own.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@sheaf/gateway/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificates, type TestCertificates } from './authority.js';
import { installed } from './peers/common_program.js';
import { sheaf, startProgram, type RunningProgram } from './programs.js';
import { startRelay } from './relay.js';
import { patternBytes, sha256 } from './site.js';

const page = patternBytes(300_000);

let directory: string;
let certificates: TestCertificates;
let programs: RunningProgram[] = [];
let server: number;
let ownProxy: number;
let foreignProxy: number;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-tunnel-'));
  certificates = makeCertificates(directory);
  mkdirSync(join(directory, 'site'));
  writeFileSync(join(directory, 'site', 'page.bin'), page);
  writeFileSync(join(directory, 'users.txt'), 'ann:her password\n', { mode: 0o600 });
  [server, ownProxy] = [await freePort(), await freePort()];
  const tls = `{ cert: ${certificates.certificate}, key: ${certificates.key} }`;
  const configuration = join(directory, 'sheaf.yaml');
  writeFileSync(
    configuration,
    `nodes:
  server: { role: gateway, listen: "127.0.0.1:${server}", tls: ${tls}, log: { level: warn }, routes: [{ files: site }] }
  proxy:
    role: gateway
    listen: 127.0.0.1:${ownProxy}
    congestion: bbr
    tls: ${tls}
    log: { level: warn }
    routes: [{ path: /.well-known/masque/udp/, connect_udp: { allow: "127.0.0.1:${server}", users: users.txt } }]
`,
  );
  const serve = ['-serve', certificates.certificate, '-key', certificates.key];
  const foreign = await startProgram(installed('.sheaf', 'interop-go', 'masque'), serve, /^serving /);
  foreignProxy = Number(/\d+$/.exec(foreign.line)?.[0]);
  programs = [await startProgram(sheaf, ['up', configuration], /ready/), foreign];
}, 60_000);

afterAll(async () => {
  expect(await Promise.all(programs.map((program) => program.stop()))).toEqual([0, 0]);
  rmSync(directory, { recursive: true, force: true });
});

const template = (port: number): string => `https://127.0.0.1:${port}/masque?h={target_host}&p={target_port}`;
const own = (port: number): string => `https://127.0.0.1:${port}`;

/** Fetches a page of the server by a proxy. Returns what the program printed. */
async function fetchBy(proxy: string, { path = '/page.bin', port = server, user = 'ann:her password' } = {}) {
  const authority = ['--ca', certificates.authority, '--proxy-ca', certificates.authority];
  const { stdout } = await promisify(execFile)(
    sheaf,
    ['fetch', '--json', ...authority, '--proxy', proxy, '--timeout', '60', `https://127.0.0.1:${port}${path}`],
    { env: { ...process.env, SHEAF_PROXY_USER: user } },
  );
  return JSON.parse(stdout) as { status: number; sha256: string; tunnel_reports: number };
}

const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no failure',
    (error: unknown) => (error as { stderr: string }).stderr,
  );

describe.each([
  ["masque-go's proxy", () => template(foreignProxy)],
  ['its own proxy', () => own(ownProxy)],
])('a page comes through %s', (_name, proxy) => {
  it('whole', async () => {
    expect(await fetchBy(proxy())).toMatchObject({ status: 200, sha256: sha256(page) });
  }, 90_000);
});

describe.each([
  ["masque-go's proxy", () => foreignProxy, template],
  ['its own proxy', () => ownProxy, own],
])('a page comes through %s', (_name, port, address) => {
  it('over a path that loses 5 % of its packets', async () => {
    const relay = await startRelay(port(), { loss: 0.05, seed: 21 });
    const fetched = await fetchBy(address(relay.port));
    relay.close();
    expect(fetched.sha256).toBe(sha256(page));
    // The server inside hears how a tunnel of ours does.
    if (address === own) expect(fetched.tunnel_reports).toBeGreaterThan(0);
    else expect(fetched.tunnel_reports).toBe(0);
    expect(relay.counts.carried).toBeGreaterThan(100);
  }, 90_000);
});

it('says what a proxy answered, and what to do', async () => {
  expect(await failure(fetchBy(own(ownProxy), { user: '' }))).toMatch(/answered 407[^]*--proxy-user NAME:PASSWORD/);
  expect(await failure(fetchBy(own(ownProxy), { port: ownProxy }))).toMatch(
    /answered 403 \(sheaf; error=destination_ip_prohibited\)/,
  );
  expect(await failure(fetchBy(own(server)))).toMatch(/answered (404|501)/);
  expect(await failure(fetchBy('https://127.0.0.1/{target_host}'))).toMatch(/is no proxy for UDP/);
}, 120_000);

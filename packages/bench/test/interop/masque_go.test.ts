import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TunnelStatus } from '@sheaf/gateway';
import { freePort } from '@sheaf/gateway/client';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { makeCertificates, type TestCertificates } from './authority.js';
import { installed, printedJson } from './peers/common_program.js';
import { startRelay, type RelayOptions } from './relay.js';
import { sheaf, startProgram, type RunningProgram } from './programs.js';
import { patternBytes, sha256 } from './site.js';

/** What came of one tunnel of the program `masque` */
interface Tunnel {
  status: number;
  bytes: number;
  sha256: string;
  proxyStatus: number;
  proxyField: string;
  nextHop: string;
}

const page = patternBytes(300_000);
const credentials = `Basic ${Buffer.from('ann:her password').toString('base64')}`;

let directory: string;
let certificates: TestCertificates;
let program: RunningProgram;
let server: number;
let proxy: number;
let admin: number;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-masque-'));
  certificates = makeCertificates(directory);
  mkdirSync(join(directory, 'site'));
  writeFileSync(join(directory, 'site', 'page.bin'), page);
  writeFileSync(join(directory, 'users.txt'), 'ann:her password\n', { mode: 0o600 });
  [server, proxy, admin] = [await freePort(), await freePort(), await freePort()];
  const configuration = join(directory, 'sheaf.yaml');
  writeFileSync(
    configuration,
    `nodes:
  server:
    role: gateway
    listen: 127.0.0.1:${server}
    tls: { cert: ${certificates.certificate}, key: ${certificates.key} }
    log: { level: warn }
    routes: [{ files: site }]
  proxy:
    role: gateway
    listen: 127.0.0.1:${proxy}
    admin: 127.0.0.1:${admin}
    tls: { cert: ${certificates.certificate}, key: ${certificates.key} }
    log: { file: proxy.log }
    routes:
      - path: /.well-known/masque/udp/
        connect_udp: { allow: "127.0.0.1:${server}", users: users.txt }
      - connect: { allow: "127.0.0.1:${server}", users: users.txt }
      - { files: site }
`,
  );
  program = await startProgram(sheaf, ['up', configuration], /ready/);
}, 60_000);

afterAll(async () => {
  expect(await program.stop()).toBe(0);
  rmSync(directory, { recursive: true, force: true });
});

/** Loads the page of the server, or asks for another one, through tunnels of one connection. */
function fetchPage({
  tunnels = 1,
  authorization = credentials,
  url = `https://127.0.0.1:${server}/page.bin`,
  port = proxy,
  capsules = '',
  tcp = '',
} = {}) {
  return printedJson<Tunnel[]>(installed('.sheaf', 'interop-go', 'masque'), [
    '-template',
    `https://127.0.0.1:${port}/.well-known/masque/udp/{target_host}/{target_port}/`,
    '-authority',
    certificates.authority,
    '-authorization',
    authorization,
    '-capsules',
    capsules,
    '-tcp',
    tcp,
    '-tunnels',
    String(tunnels),
    url,
  ]);
}

it('masque-go loads a page of another server through the proxy', async () => {
  expect(await fetchPage()).toEqual([
    {
      status: 200,
      bytes: page.length,
      sha256: sha256(page),
      proxyStatus: 200,
      proxyField: `sheaf; next-hop="127.0.0.1:${server}"`,
      nextHop: `127.0.0.1:${server}`,
    },
  ]);
}, 120_000);

it('many tunnels of one connection carry pages at once', async () => {
  const tunnels = await fetchPage({ tunnels: 100 });
  expect(tunnels.map((tunnel) => tunnel.sha256)).toEqual(Array<string>(100).fill(sha256(page)));
}, 120_000);

it.each([
  ['1.1', 101],
  ['2', 200],
  ['3', 200],
])(
  'pages come in capsules over HTTP/%s',
  async (capsules, proxyStatus) => {
    const tunnels = await fetchPage({ capsules, tunnels: 10 });
    const expected = { status: 200, sha256: sha256(page), proxyStatus, nextHop: `127.0.0.1:${server}` };
    expect(tunnels).toMatchObject(Array<object>(10).fill(expected));
  },
  120_000,
);

it.each(['1.1', '2', '3'])(
  'pages come over TCP through CONNECT of HTTP/%s',
  async (tcp) => {
    const expected = { status: 200, sha256: sha256(page), proxyStatus: 200 };
    expect(await fetchPage({ tcp, tunnels: 10 })).toMatchObject(Array<object>(10).fill(expected));
    expect(await fetchPage({ tcp, authorization: '' })).toMatchObject([{ proxyStatus: 407 }]);
    expect(await fetchPage({ tcp, url: `https://127.0.0.1:${admin}/` })).toMatchObject([{ proxyStatus: 403 }]);
  },
  120_000,
);

it.each<[string, RelayOptions]>([
  ['loses 5 % of its packets', { loss: 0.05, seed: 20 }],
  ['carries packets of at most 1360 bytes', { longest: 1_360 }],
])(
  'a page comes through a path to the proxy that %s',
  async (_path, options) => {
    const relay = await startRelay(proxy, options);
    const [tunnel] = await fetchPage({ port: relay.port });
    relay.close();
    expect(relay.counts.carried).toBeGreaterThan(100);
    expect(tunnel?.sha256).toBe(sha256(page));
  },
  120_000,
);

it('refuses clients without credentials, and targets that are not named', async () => {
  const refused = async (options: Parameters<typeof fetchPage>[0]) => {
    const [{ proxyStatus, proxyField } = {}] = await fetchPage(options);
    return [proxyStatus, proxyField];
  };
  const prohibited = 'sheaf; error=destination_ip_prohibited';
  expect(await refused({ authorization: '' })).toEqual([407, '']);
  expect(await refused({ authorization: `Basic ${btoa('ann:a guess')}` })).toEqual([407, '']);
  expect(await refused({ url: `https://127.0.0.1:${admin}/` })).toEqual([403, prohibited]);
  expect(await refused({ url: `https://[::ffff:127.0.0.1]:${admin}/` })).toEqual([403, prohibited]);
  expect(await refused({ url: 'https://192.168.1.1:443/' })).toEqual([403, prohibited]);
  for (const capsules of ['1.1', '2', '3']) {
    expect(await refused({ capsules, authorization: '' })).toEqual([407, '']);
    expect(await refused({ capsules, url: `https://127.0.0.1:${admin}/` })).toEqual([403, prohibited]);
  }
}, 120_000);

it('the status, the metrics and the log tell what tunnels carried', async () => {
  const ask = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${admin}${path}`)).text();
  const { tunnels } = JSON.parse(await ask('/status')) as { tunnels: TunnelStatus };
  expect(tunnels.bytesToClient).toBeGreaterThan(133 * page.length);
  expect(tunnels.answers).toMatchObject({ 200: 133, 403: 6, 407: 5 });
  expect(tunnels.drops).toMatchObject({ unknownContext: 0, overRate: 0 });
  expect(await ask('/metrics')).toMatch(/^sheaf_tunnel_packets_total\{direction="to_client"\} \d{4,}$/m);
  // The end of a connection that its client left is heard when the system says so.
  const ended = await vi.waitFor(() => {
    const lines = readFileSync(join(directory, 'proxy.log'), 'utf8').trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const found = entries.filter(({ msg }) => msg === 'tunnel ended');
    expect(found).toHaveLength(133);
    return found;
  }, 20_000);
  const versions = ['1.1', '2', '3'].map(
    (version) => ended.filter(({ httpVersion }) => httpVersion === version).length,
  );
  expect(versions).toEqual([10, 10, 113]);
  expect(ended[0]).toMatchObject({ user: 'ann', target: `127.0.0.1:${server}`, reason: expect.any(String) as string });
}, 30_000);

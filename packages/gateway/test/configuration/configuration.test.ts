import { describe, expect, it } from 'vitest';
import { configurationSchema } from '../../src/schema/node.js';
import { parseConfiguration } from '../../src/configuration/load.js';
import { parseGateway } from '../support/configuration.js';
import { configurationsIn } from '../support/markdown.js';

const fromTheIssue = `
listen: 127.0.0.1:4433          # UDP and TCP
tls: dev                        # or { cert: ./cert.pem, key: ./key.pem }
alpn: [h3, hq-interop]          # default: [h3]
admin: 127.0.0.1:9433           # /healthz, /metrics, status
routes:
  - { path: /echo, webtransport: echo }
  - { path: /api/, upstream: "http://127.0.0.1:3000" }
  - { path: /, files: ./site }
`;

describe('a valid configuration', () => {
  it('fills in defaults and makes paths absolute', () => {
    const { node, directory } = parseGateway(fromTheIssue, '/srv/sheaf.yaml');
    expect(directory).toBe('/srv');
    expect(node.listen).toEqual({ address: '127.0.0.1', port: 4433 });
    expect(node.alpn).toEqual(['h3', 'hq-interop']);
    expect(node.routes[0]?.webtransport).toEqual({ application: 'echo' });
    expect(node.routes[1]?.upstream?.to.map((origin) => origin.href)).toEqual(['http://127.0.0.1:3000/']);
    expect(node.routes[2]?.files).toMatchObject({ root: '/srv/site', index: 'index.html', hidden: false, max_age: 0 });
    expect(node.limits).toMatchObject({ streams: 1000, body_size: 64 * 2 ** 20, idle: 30_000, retry: 'auto' });
  });

  it.each([
    [':4433', { address: '::', port: 4433 }],
    ['[::1]:1', { address: '::1', port: 1 }],
    ['localhost:80', { address: '127.0.0.1', port: 80 }],
    ['0.0.0.0:443', { address: '0.0.0.0', port: 443 }],
  ])('listens on %s', (text, expected) => {
    expect(parseGateway(`listen: "${text}"\nroutes: [{ files: . }]`, 'a.yaml').node.listen).toEqual(expected);
  });

  it('listens on a list of addresses with one port', () => {
    const node = (listen: string) => parseGateway(`listen: ${listen}\nroutes: [{ files: . }]`, 'a.yaml');
    expect(node('["127.0.0.1:443", "[fe80::7%eth0]:443"]').node.listen).toEqual({
      address: '127.0.0.1',
      further: ['fe80::7%eth0'],
      port: 443,
    });
    expect(node('["127.0.0.1:443"]').node.listen).toEqual({ address: '127.0.0.1', port: 443 });
    expect(node('["192.0.2.1:443", "[fe80::7%eth0]:443"]').certificateNames).toEqual([
      'localhost',
      '127.0.0.1',
      '::1',
      '192.0.2.1',
      'fe80::7',
    ]);
  });

  it('takes the long form of every option', () => {
    const { node } = parseGateway(
      `
listen: 127.0.0.1:0
tls: { cert: c.pem, key: k.pem }
http: 127.0.0.1:0
log: { level: warn, access: false, file: logs/a.log }
qlog: q
routes:
  - path: /api
    host: [a.example, "*.b.example"]
    methods: [GET, POST]
    upstream:
      to: [http://127.0.0.1:1, https://h.example]
      balance: client_address
      health: { path: /ok, interval: 1s, timeout: 500ms }
      retries: 0
  - { path: /chat, webtransport: { application: ./chat.js, origins: https://a.example } }
  - { files: { root: /data, precompressed: false, max_age: 1h } }
`,
      '/etc/sheaf/sheaf.yaml',
    );
    expect(node.tls).toEqual({ cert: '/etc/sheaf/c.pem', key: '/etc/sheaf/k.pem' });
    expect(node.log).toEqual({ level: 'warn', access: false, file: '/etc/sheaf/logs/a.log' });
    expect(node.qlog).toBe('/etc/sheaf/q');
    expect(node.routes[0]?.upstream).toMatchObject({
      balance: 'client_address',
      health: { path: '/ok', interval: 1_000, timeout: 500 },
    });
    expect(node.routes[1]?.webtransport).toEqual({ application: '/etc/sheaf/chat.js', origins: ['https://a.example'] });
    expect(node.routes[2]).toMatchObject({
      path: '/',
      files: { root: '/data', precompressed: false, max_age: 3_600_000 },
    });
  });

  it('may hold several nodes, each with its role', () => {
    const { nodes, named } = parseConfiguration(
      `
nodes:
  laptop:
    role: edge
    gateway: center
    tls: { cert: c.pem, key: k.pem }
    paths: [{ local: 192.0.2.7 }, { local: 192.0.2.8, remote: "192.0.2.1:5000", backup: true }]
  away: { role: edge, listen: "[::1]:7", gateway: { address: "[2001:db8::1]:443", certificate: { hash: "${'AB:'.repeat(31)}AB", }, server_name: h.example } }
  center: { role: gateway, listen: ":4433", routes: [{ host: a.example, files: site }] }
`,
      '/srv/sheaf.yaml',
    );
    const [laptop, away, center] = nodes;
    expect([named, ...nodes.map(({ name, role }) => `${name} ${role}`)]).toEqual([
      true,
      'laptop edge',
      'away edge',
      'center gateway',
    ]);
    expect(laptop).toMatchObject({
      gateway: { name: 'center' },
      node: {
        listen: { address: '127.0.0.1', port: 4443 },
        tls: { cert: '/srv/c.pem', key: '/srv/k.pem' },
        paths: [
          { local: '192.0.2.7', backup: false },
          { local: '192.0.2.8', remote: { address: '192.0.2.1', port: 5000 }, backup: true },
        ],
      },
    });
    expect(away?.node).toMatchObject({
      paths: 'auto',
      gateway: {
        address: { host: '2001:db8::1', port: 443 },
        server_name: 'h.example',
        certificate: { hash: ['ab'.repeat(32)] },
      },
    });
    expect(center).toMatchObject({
      node: { routes: [{ files: { root: '/srv/site' } }] },
      certificateNames: ['localhost', '127.0.0.1', '::1', 'a.example'],
    });
  });

  it('bounds what aliases blow up to', () => {
    const bomb = [
      'a: &a [x, x]',
      ...'bcdefghi'
        .split('')
        .map((letter, index) => `${letter}: &${letter} [*${'abcdefgh'[index]}, *${'abcdefgh'[index]}]`),
    ].join('\n');
    expect(() => parseConfiguration(bomb, 'a.yaml')).toThrow(
      expect.objectContaining({ code: 'CONFIG_SYNTAX' }) as Error,
    );
  });
});

describe('documentation', () => {
  for (const file of [
    'README.md',
    'docs/reference/configuration.md',
    'docs/guide/edge.md',
    'docs/guide/fleet.md',
    'docs/guide/getting-started.md',
    'docs/guide/applications.md',
    'docs/guide/live-media.md',
  ]) {
    const path = new URL(`../../../../${file}`, import.meta.url);
    it(`${file} shows configurations that are valid`, async () => {
      const configurations = await configurationsIn(path);
      expect(configurations.length).toBeGreaterThan(0);
      for (const configuration of configurations) expect(() => parseConfiguration(configuration, file)).not.toThrow();
    });
  }

  it('describes every key in the JSON Schema', () => {
    const undescribed: string[] = [];
    const visit = (node: Record<string, unknown>, path: string): void => {
      for (const [key, child] of Object.entries(
        (node['properties'] ?? {}) as Record<string, Record<string, unknown>>,
      )) {
        if (typeof child['description'] !== 'string') undescribed.push(`${path}.${key}`);
        visit(child, `${path}.${key}`);
      }
      for (const branch of (node['anyOf'] ?? []) as Record<string, unknown>[]) visit(branch, path);
      if (node['items']) visit(node['items'] as Record<string, unknown>, `${path}[]`);
    };
    visit(configurationSchema(), '');
    expect(undescribed).toEqual([]);
  });
});

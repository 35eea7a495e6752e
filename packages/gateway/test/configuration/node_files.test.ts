import { describe, expect, it } from 'vitest';
import { parseConfiguration } from '../../src/configuration/load.js';
import { filesOfNode, moveFiles } from '../../src/configuration/node_files.js';

const text = `# Two machines
nodes:
  site:
    role: gateway
    listen: :443
    tls: { cert: ./cert.pem, key: ./key.pem }   # renewed by a timer
    secrets: ./secrets
    key: { file: ./site.key }
    backbone: 10.0.0.1:4533
    channels: { news: { authentication: signed, key: ./news.key } }
    qlog: ./qlog
    log: { file: ./sheaf.log }
    routes:
      - { path: /echo, webtransport: echo }
      - { path: /chat, webtransport: ./chat.js }
      - path: /api/
        upstream: { to: "https://10.0.0.5", tls: { ca: ./ca.pem, certificate: { cert: ./me.pem, key: ./me.key } } }
      - { connect_udp: { users: ./users.txt, allow: [example.com] }, path: /proxy }
      - { path: /assets/, files: { root: ./assets, max_age: 1h } }
      - { files: ./site }
  laptop:
    role: tunnel
    gateway: { address: "gateway.example:443", certificate: { ca: ./gateway.pem } }
    user: { file: ./user.txt }
    socks5: 127.0.0.1:1080
`;

const nodeOf = (source: string, name: string) => {
  const node = parseConfiguration(source, '/etc/sheaf/sheaf.yaml').nodes.find((each) => each.name === name);
  if (!node) throw new Error(name);
  return node;
};
const idsOf = (source: string, name: string) =>
  filesOfNode(nodeOf(source, name)).map(({ id, kind, path }) => `${kind} ${id} ${path}`);

describe('the files of a node', () => {
  it('are all that its configuration names', () => {
    expect(idsOf(text, 'site')).toEqual([
      'certificate tls-cert /etc/sheaf/cert.pem',
      'secret tls-key /etc/sheaf/key.pem',
      'secret secrets /etc/sheaf/secrets',
      'secret key-file /etc/sheaf/site.key',
      'secret channels-news-key /etc/sheaf/news.key',
      'module routes-1-webtransport-application /etc/sheaf/chat.js',
      'certificate routes-2-upstream-tls-ca /etc/sheaf/ca.pem',
      'certificate routes-2-upstream-tls-certificate-cert /etc/sheaf/me.pem',
      'secret routes-2-upstream-tls-certificate-key /etc/sheaf/me.key',
      'secret routes-3-connect_udp-users /etc/sheaf/users.txt',
      'directory routes-4-files-root /etc/sheaf/assets',
      'directory routes-5-files-root /etc/sheaf/site',
      'log log-file /etc/sheaf/sheaf.log',
      'qlog qlog /etc/sheaf/qlog',
    ]);
    expect(idsOf(text, 'laptop')).toEqual([
      'secret user-file /etc/sheaf/user.txt',
      'certificate gateway-certificate-ca /etc/sheaf/gateway.pem',
    ]);
  });

  it('move, and everything else stays', () => {
    const moved = moveFiles(text, '/etc/sheaf/sheaf.yaml', 'site', ({ id }) => `/new/${id}`);
    expect(filesOfNode(nodeOf(moved, 'site')).every(({ id, path }) => path === `/new/${id}`)).toBe(true);
    expect(idsOf(moved, 'laptop')).toEqual(idsOf(text, 'laptop'));
    const masked = moved.replaceAll(/"\/new\/[^"]*"/g, '_');
    expect(masked).toBe(
      text
        .split('  laptop:')
        .map((part, index) => (index === 0 ? part.replaceAll(/\.\/[\w.]+/g, '_') : part))
        .join('  laptop:'),
    );
  });

  it('of the only node move, too', () => {
    const only = 'listen: :443\ntls:\n  cert: "a b.pem"   # names\n  key: key.pem\nroutes: [{ files: ./site }]\n';
    expect(moveFiles(only, '/x/sheaf.yaml', 'gateway', ({ id }) => `/${id}`)).toBe(
      'listen: :443\ntls:\n  cert: "/tls-cert"   # names\n  key: "/tls-key"\nroutes: [{ files: "/routes-0-files-root" }]\n',
    );
  });

  it('move out of block scalars, and not out of what an alias stands for', () => {
    const block = 'listen: :443\ntls:\n  cert: |-\n    /cert.pem\n  key: key.pem\nroutes: [{ files: ./site }]\n';
    const moved = moveFiles(block, '/x/sheaf.yaml', 'gateway', ({ id }) => `/${id}`);
    expect(idsOf(moved, 'gateway')).toContain('certificate tls-cert /tls-cert');
    const aliased = text
      .replace('tls: {', 'tls: &tls {')
      .replace(
        '  laptop:',
        '  twin:\n    role: gateway\n    listen: :444\n    tls: *tls\n    routes: [{ files: . }]\n  laptop:',
      );
    expect(() => moveFiles(aliased, '/x/sheaf.yaml', 'twin', ({ id }) => `/${id}`)).toThrow(
      expect.objectContaining({ code: 'DEPLOYMENT_UNFIT', message: expect.stringContaining('`tls.cert`') }),
    );
  });

  it('have names of their own, whatever the names of channels', () => {
    const channels =
      'channels: { a_b: { authentication: signed, key: ./one }, a-b: { authentication: signed, key: ./two } }';
    const named = idsOf(text.replace(/channels: .*/, channels), 'site').filter((line) => line.includes('channels'));
    expect(named).toEqual(['secret channels-a_b-key /etc/sheaf/one', 'secret channels-a-b-key /etc/sheaf/two']);
  });

  it('include those of the registry, which stand at the top', () => {
    const tls = 'tls: { ca: ./nats.pem, cert: ./me.pem, key: ./me.key }';
    const registry = `registry: { nats: "nats://10.0.0.1:4222", credentials: ./nats.creds, ${tls} }\n`;
    const added = idsOf(text + registry, 'laptop').filter((line) => !idsOf(text, 'laptop').includes(line));
    expect(added).toEqual([
      'secret registry-credentials /etc/sheaf/nats.creds',
      'certificate registry-tls-ca /etc/sheaf/nats.pem',
      'certificate registry-tls-cert /etc/sheaf/me.pem',
      'secret registry-tls-key /etc/sheaf/me.key',
    ]);
    const moved = moveFiles(text + registry, '/etc/sheaf/sheaf.yaml', 'laptop', ({ id }) => `/new/${id}`);
    expect(filesOfNode(nodeOf(moved, 'laptop')).every(({ id, path }) => path === `/new/${id}`)).toBe(true);
  });

  it('are written by the node where an operator sends them', () => {
    const operator = 'registry: { operator: ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA }\n';
    expect(idsOf(text + operator, 'site')).toContain('state secrets /etc/sheaf/secrets');
  });
});

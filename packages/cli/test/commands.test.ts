import { createHash, X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleConfiguration } from '../src/commands/init.js';
import { sheaf, temporaryDirectory } from './support/world.js';

const commands = [
  'up',
  'init',
  'check',
  'schema',
  'status',
  'fetch',
  'cert',
  'keys',
  'backend',
  'demo',
  'link',
  'bench',
];

describe('help', () => {
  it('lists every command and every exit code', async () => {
    const { code, out } = await sheaf(['--help']);
    expect(code).toBe(0);
    for (const command of [...commands, 'completion']) expect(out).toContain(`sheaf ${command}`);
    for (const exit of [0, 1, 2, 3, 4, 5, 130]) expect(out).toMatch(new RegExp(`^  ${exit} `, 'm'));
  });

  it.each(commands)('of %s has an example', async (command) => {
    const { code, out } = await sheaf([command, '--help']);
    expect(code).toBe(0);
    expect(out).toContain('Examples:');
  });

  it('prints the version', async () => {
    expect((await sheaf(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('completes commands and options', async () => {
    expect((await sheaf(['completion'])).out).toContain('complete');
    expect((await sheaf(['--get-yargs-completions', 'sheaf', 'st'])).out).toContain('status');
    expect((await sheaf(['--get-yargs-completions', 'sheaf', 'fetch', '--in'])).out).toContain('--insecure');
  });
});

describe('wrong use', () => {
  it.each([
    [[], 'name a command'],
    [['chekc', 'a'], 'did you mean `check`'],
    [['end', 'drain', 'one'], 'it is called `sheaf backend drain one` now'],
    [['up', '--nod', 'a'], 'unknown argument: nod'],
    [['fetch'], '`sheaf fetch` needs a value'],
    [['fetch', 'http://127.0.0.1/'], 'is not an https URL'],
    [['fetch', 'https://127.0.0.1/', '--repeat', '0'], '--repeat takes a whole number'],
    [['fetch', 'https://127.0.0.1/', '--alpn', 'h2'], 'invalid values'],
    [['fetch', 'https://127.0.0.1/', '--certificate-hash', 'abc'], 'is not a SHA-256'],
    [['fetch', 'https://127.0.0.1/', '--path', 'eth0'], 'an end that is no IP address'],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1:0'], 'no port from 1 to 65535'],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1>'], 'is not a path'],
    [['fetch', 'https://127.0.0.1/', '--path', '::1'], 'is not a path'],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1', '--path', '127.0.0.1>[::1]:1'], 'joins IPv4 with IPv6'],
    [
      ['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1,standby'],
      'has `standby`, which is neither `backup` nor `weight=N`',
    ],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1,backup,backup'], 'says something twice'],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1,weight=0'], 'no whole number from 1 to 1000'],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1,weight=1001'], 'no whole number from 1 to 1000'],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1,weight='], 'no whole number from 1 to 1000'],
    [['fetch', 'https://127.0.0.1/', '--path', '127.0.0.1,weight=3'], 'no effect with the path scheduler `ecf`'],
    [['fetch', 'https://127.0.0.1/', '--path-scheduler', 'fastest'], 'path-scheduler, Given: "fastest"'],
    [['fetch', 'https://127.0.0.1/', '--congestion', 'reno'], 'congestion, Given: "reno"'],
    [['demo', '--json'], '--json goes with --once'],
    [['bench', 'nothing'], 'there is no experiment'],
    [['bench', 'engine', '--rnus', '3'], 'did you mean --runs?'],
    [['bench', 'multi-end', '--real', '--ends', '3'], 'it is called --backends now'],
    [['bench', 'soak', '--seconds', '1'], '--seconds'],
    [['bench', 'engine', 'http'], 'does not take `http`'],
  ])('%s', async (args, message) => {
    const { code, out, err } = await sheaf(args);
    expect(err).toContain(message);
    expect(err).not.toMatch(/\n {4}at /);
    expect([code, out]).toEqual([2, '']);
  });
});

describe('repeated options', () => {
  it('are all taken where several make sense, else the last counts', async () => {
    // Every certificate hash is read, and the last number of requests.
    const all = await sheaf([
      'fetch',
      'https://127.0.0.1/',
      '--certificate-hash',
      'first',
      '--certificate-hash',
      'ab'.repeat(32),
    ]);
    expect(all.err).toContain('first');
    const last = await sheaf(['fetch', 'https://127.0.0.1/', '--repeat', '5', '--repeat', '0']);
    expect(last.err).toContain('--repeat takes a whole number');
  });
});

describe('init and check', () => {
  it('writes a configuration that is valid, and a page', async () => {
    const directory = await temporaryDirectory();
    expect(await sheaf(['init'], directory)).toEqual({
      code: 0,
      out: 'wrote sheaf.yaml\nwrote site/index.html\nnext: sheaf up sheaf.yaml\n',
      err: '',
    });
    expect(await readFile(join(directory, 'sheaf.yaml'), 'utf8')).toBe(exampleConfiguration);
    // Somebody else may use its ports at the moment: a warning.
    expect(await sheaf(['check', 'sheaf.yaml'], directory)).toMatchObject({ code: 0, out: 'Valid configuration\n' });
  });

  it('does not overwrite anything unasked', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'sheaf.yaml'), 'mine');
    const { code, err } = await sheaf(['init'], directory);
    expect(code).toBe(2);
    expect(err).toContain('error[CONFIG_EXISTS]');
    expect(await readFile(join(directory, 'sheaf.yaml'), 'utf8')).toBe('mine');
    expect((await sheaf(['init', '--force'], directory)).code).toBe(0);
    expect((await sheaf(['check'], directory)).code).toBe(0);
  });

  it('shows every error with its place, on standard error', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'sheaf.yaml'), 'listen: 127.0.0.1:4433\nroutes: [{ fiels: . }]\n');
    const { code, out, err } = await sheaf(['check', 'sheaf.yaml'], directory);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('sheaf.yaml:2:12');
    expect(err).toContain('^^^^^');
    expect(err).toContain('did you mean `files`?');
  });

  it('names a file that is not there', async () => {
    const { code, err } = await sheaf(['check', 'nope.yaml']);
    expect(code).toBe(2);
    expect(err).toContain('error[CONFIG_NOT_FOUND]');
  });
});

describe('check', () => {
  it('says what to do with a directory', async () => {
    const directory = await temporaryDirectory();
    const without = await sheaf(['check', '.'], directory);
    expect(without.code).toBe(2);
    expect(without.err).toContain(`${directory} is a directory, not a configuration file`);
    await sheaf(['init'], directory);
    expect((await sheaf(['check', '.'], directory)).err).toContain(
      `hint: name the file in it: ${join(directory, 'sheaf.yaml')}`,
    );
  });

  it('shows what the machine lacks beside what is wrong with the file', async () => {
    const directory = await temporaryDirectory();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `listen: 127.0.0.1:${port}\nlimtis: {}\nroutes: [{ files: ./none }]\n`,
    );
    const { code, err } = await sheaf(['check'], directory);
    expect(code).toBe(2);
    expect(err).toContain(`warning[PORT_TAKEN]: TCP 127.0.0.1:${port}`);
    expect(err).toContain('sheaf.yaml:1:9');
    expect(err).toContain('unknown key `limtis`');
    expect(err).toContain('none does not exist');
    expect(err).toContain('2 errors');
  });

  it('says from which addresses of gateways this machine cannot send', async () => {
    const directory = await temporaryDirectory();
    const node = (role: string, host: number, more: string): string =>
      `{ role: ${role}, listen: "127.0.0.${host}:0", backbone: "127.0.0.${host}:0", tls: dev, ${more} }`;
    await writeFile(
      join(directory, 'sheaf.yaml'),
      [
        'nodes:',
        `  site: ${node('gateway', 1, 'backends: [one], routes: [{ backends: [one] }]').replace('127.0.0.1:0', '203.0.113.7:4433')}`,
        `  one: ${node('backend', 2, 'primary: site, routes: [{ files: . }], return: { from: ["203.0.113.7:4433"], via: own-address }')}`,
      ].join('\n'),
    );
    const { code, err } = await sheaf(['check'], directory);
    expect(code).toBe(0);
    expect(err).toMatch(/warning\[RETURN_ADDRESS\]: .*203\.0\.113\.7:4433/);
    expect(err).toContain('hint: no interface has it: run `ip addr add 203.0.113.7/32 dev lo`');
  });

  it('finds a file valid whose gateway is running', async () => {
    const directory = await temporaryDirectory();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `listen: 127.0.0.1:${(taken.address() as AddressInfo).port}\nroutes: [{ files: . }]\n`,
    );
    expect(await sheaf(['check'], directory)).toMatchObject({
      code: 0,
      out: 'Valid configuration\n',
      err: expect.stringContaining('warning[PORT_TAKEN]') as string,
    });
  });
});

describe('schema', () => {
  it('is a JSON Schema that knows no other keys', async () => {
    const { anyOf } = JSON.parse((await sheaf(['schema'])).out) as {
      anyOf: { properties: object; additionalProperties: boolean }[];
    };
    const [gateway, nodes] = anyOf;
    expect([gateway?.additionalProperties, nodes?.additionalProperties]).toEqual([false, false]);
    expect(Object.keys(nodes?.properties ?? {})).toEqual(['nodes', 'registry']);
    expect(Object.keys(gateway?.properties ?? {})).toEqual([
      'listen',
      'workers',
      'public_url',
      'trusted_proxies',
      'proxy_protocol',
      'tls',
      'secrets',
      'connection_ids',
      'forward',
      'alpn',
      'congestion',
      'multipath',
      'path_scheduler',
      'stream_scheduler',
      'page_loader',
      'http',
      'admin',
      'routes',
      'channels',
      'backends',
      'backbone',
      'key',
      'public_key',
      'limits',
      'log',
      'tracing',
      'qlog',
      'registry',
    ]);
  });
});

describe('cert', () => {
  it('makes a certificate, shows it again, and renews it', async () => {
    const directory = await temporaryDirectory();
    const show = async (...args: string[]) =>
      JSON.parse((await sheaf(['cert', '--json', ...args], directory)).out) as {
        certificate: string;
        sha256: string;
        spki: string;
      };
    const first = await show();
    const leaf = new X509Certificate(await readFile(first.certificate, 'utf8'));
    expect(first.sha256).toBe(createHash('sha256').update(leaf.raw).digest('hex'));
    expect(await show()).toEqual(first);
    expect((await show('--renew')).sha256).not.toBe(first.sha256);
    expect((await sheaf(['cert'], directory)).out).toContain('--ignore-certificate-errors-spki-list=');
  });
});

describe('status', () => {
  it('says that no gateway answers', async () => {
    const { code, err } = await sheaf(['status', '--admin', '127.0.0.1:1']);
    expect(code).toBe(4);
    expect(err).toContain('error[ADMIN_UNREACHABLE]');
  });

  it('refuses a response that is no status', async () => {
    const server = createServer((_request, response) => void response.writeHead(404).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    expect((await sheaf(['status', '--admin', `127.0.0.1:${(server.address() as AddressInfo).port}`])).code).toBe(4);
  });
});

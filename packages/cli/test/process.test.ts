import { once } from 'node:events';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cp, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort, start, type RunningProcess } from './support/process.js';
import { sheaf, temporaryDirectory, testWorld } from './support/world.js';
import { run } from '../src/run.js';

interface Site {
  directory: string;
  port: number;
  admin: number;
  large: Buffer;
}

async function makeSite(routes = '  - { path: /, files: ./site }'): Promise<Site> {
  const [directory, port, admin] = [await temporaryDirectory(), await freePort(), await freePort()];
  const large = randomBytes(2_000_000);
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'index.html'), '<h1>hello</h1>\n');
  await writeFile(join(directory, 'site', 'large.bin'), large);
  await writeFile(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\nalpn: [h3, hq-interop]\nadmin: 127.0.0.1:${admin}\nroutes:\n${routes}\n`,
  );
  return { directory, port, admin, large };
}

async function up(site: Site): Promise<RunningProcess> {
  const running = start(['up', 'sheaf.yaml'], site.directory);
  await vi.waitFor(() => expect(running.out() + running.err()).toMatch(/ready|error/), 30_000);
  expect(running.err()).not.toContain('error[');
  return running;
}

const lateUpstream = async () => {
  const arrived = vi.fn();
  const server = createServer(() => void arrived()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { arrived, route: `  - { upstream: "http://127.0.0.1:${(server.address() as AddressInfo).port}" }` };
};

describe('a command', () => {
  const loadedBy = async (...args: string[]): Promise<string> => {
    const { exit, err } = start(args, await temporaryDirectory(), [
      '--import',
      new URL('support/tell_modules.mjs', import.meta.url).href,
    ]);
    await exit;
    return err();
  };

  it('loads what it needs: a client nothing of what serves', async () => {
    const client = await loadedBy('fetch', 'http://127.0.0.1/');
    expect(client).toContain('cli/dist/commands/fetch.js');
    expect(client).not.toMatch(/\/(zod|pino|undici|prom-client)\/|gateway\/dist\/gateway\//);
    const schema = await loadedBy('schema');
    expect(schema).toContain('/zod/');
    expect(schema).not.toContain('cli/dist/commands/fetch.js');
  });

  it.each([['init'], ['--version'], ['-v']])('loads nothing of what serves: %s', async (command) => {
    const loaded = await loadedBy(command);
    expect(loaded).toContain('cli/dist/run.js');
    expect(loaded).not.toMatch(/\/(zod|pino|undici|prom-client|yaml)\/|gateway\/dist\/nodes\//);
  });

  it('loads the library that makes certificates where one is made: not to check, nor to serve with one that is kept', async () => {
    const { directory } = await makeSite();
    const tell = ['--import', new URL('support/tell_modules.mjs', import.meta.url).href];
    const check = start(['check'], directory, tell);
    expect(await check.exit).toBe(0);
    expect(check.err()).not.toContain('@peculiar/x509');
    for (const makesOne of [true, false]) {
      const running = start(['up'], directory, tell);
      await vi.waitFor(() => expect(running.out()).toContain('ready'), 30_000);
      running.child.kill('SIGTERM');
      expect(await running.exit).toBe(0);
      expect(running.err().includes('@peculiar/x509')).toBe(makesOne);
      // No route has an upstream.
      expect(running.err()).not.toContain('/undici/');
    }
  });
});

/** Node's arguments for a program that finds an installed @sheaf/native without its addon. */
async function withoutAddon(): Promise<string[]> {
  const native = join(import.meta.dirname, '..', '..', 'native');
  const copy = await temporaryDirectory();
  for (const part of ['dist', 'package.json']) await cp(join(native, part), join(copy, part), { recursive: true });
  const url = pathToFileURL(join(copy, 'dist', 'index.js')).href;
  const module = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
  const hooks = module(`export const resolve = (name, context, next) =>
    name === '@sheaf/native' ? { url: ${JSON.stringify(url)}, shortCircuit: true } : next(name, context);`);
  return ['--import', module(`import { register } from 'node:module'; register(${JSON.stringify(hooks)});`)];
}

describe('sheaf up', () => {
  it('says how to build the transport where its addon is missing, also to `sheaf fetch`', async () => {
    const site = await makeSite();
    for (const args of [['up'], ['fetch', '--insecure', `https://127.0.0.1:${site.port}/`]]) {
      const { exit, err } = start(args, site.directory, await withoutAddon());
      expect([await exit, err()]).toEqual([
        3,
        expect.stringContaining('error[TRANSPORT_UNAVAILABLE]: the native transport'),
      ]);
      expect(err()).toMatch(
        /^ {2}hint: run `npm run setup` in the repository, or `npm rebuild @sheaf\/native` where it is installed \(npm 12: `npm install-scripts approve @sheaf\/native` first\)$/m,
      );
    }
  });

  it('says that it is ready, with addresses and the next step, and ends with 0 on SIGTERM', async () => {
    const site = await makeSite();
    const running = await up(site);
    await vi.waitFor(() => expect(running.out()).toContain('next: '), 30_000);
    expect(running.out().split('\n')[0]).toMatch(/^sheaf \d+\.\d+\.\d+ ready in \d+ ms$/);
    expect(running.out()).toContain(`https://127.0.0.1:${site.port}/`);
    expect(running.out()).toContain(`http://127.0.0.1:${site.admin}/`);
    running.child.kill('SIGTERM');
    expect(await running.exit).toBe(0);
    expect(running.err()).toContain('draining');
  });

  it('ends at once on a second Ctrl-C while a request is in flight', async () => {
    const { arrived, route } = await lateUpstream();
    const site = await makeSite(route);
    const running = await up(site);
    start(['fetch', '-k', `https://127.0.0.1:${site.port}/`], site.directory);
    await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), 30_000);
    running.child.kill('SIGINT');
    await vi.waitFor(() => expect(running.err()).toContain('Ctrl-C again ends at once'), 30_000);
    running.child.kill('SIGINT');
    expect(await running.exit).toBe(130);
  });

  it('refuses a taken port with its place, and a second gateway leaves the first alone', async () => {
    const site = await makeSite();
    const first = await up(site);
    const second = await sheaf(['up', 'sheaf.yaml'], site.directory);
    expect(second.code).toBe(3);
    expect(second.err).toContain('error[PORT_TAKEN]');
    expect(second.err).toContain(`listen: 127.0.0.1:${site.port}`);
    expect((await sheaf(['fetch', '-k', `https://127.0.0.1:${site.port}/`])).out).toBe('<h1>hello</h1>\n');
    first.child.kill('SIGTERM');
    expect(await first.exit).toBe(0);
  });

  it('warns of an upstream that is down once, and shows it as down', async () => {
    const down = await freePort();
    const site = await makeSite(`  - { upstream: "http://127.0.0.1:${down}" }`);
    const running = await up(site);
    await vi.waitFor(() => expect(running.err()).toContain('warning: '), 30_000);
    const { out } = await sheaf(['status'], site.directory);
    expect(out).toMatch(new RegExp(`http://127.0.0.1:${down} down for \\d+ s: connection refused`));
    running.child.kill('SIGTERM');
    expect(await running.exit).toBe(0);
    expect(running.err().split('does not answer yet')).toHaveLength(2);
  });

  it('refuses a node that the file does not have', async () => {
    const site = await makeSite();
    const { code, err } = await sheaf(['up', '--node', 'edge'], site.directory);
    expect([code, err.split(':')[0]]).toEqual([2, 'error[NODE_UNKNOWN]']);
  });

  it('reads its world from a value', async () => {
    const site = await makeSite();
    const world = await testWorld(['up'], site.directory);
    const code = run(world);
    await vi.waitFor(() => expect(world.out()).toContain('next: '), 30_000);
    world.signal('SIGINT');
    expect(await code).toBe(0);
  });
});

describe('a running gateway', () => {
  it('answers fetch and status', async () => {
    const site = await makeSite();
    await up(site);
    const url = `https://127.0.0.1:${site.port}`;
    const hash = createHash('sha256').update(site.large).digest('hex');

    expect(await sheaf(['fetch', '-k', `${url}/`])).toEqual({ code: 0, out: '<h1>hello</h1>\n', err: '' });

    const saved = await sheaf(['fetch', '-k', '-o', 'copy.bin', `${url}/large.bin`], site.directory);
    expect(saved.code).toBe(0);
    expect(saved.err).toContain(hash);
    expect((await readFile(join(site.directory, 'copy.bin'))).equals(site.large)).toBe(true);

    const { out } = await sheaf(['fetch', '-k', '--json', `${url}/large.bin`]);
    expect(JSON.parse(out)).toMatchObject({
      status: 200,
      bytes: site.large.length,
      sha256: hash,
      alpn: 'h3',
      paths: [{ id: 0, state: 'active' }],
    });

    const repeated = JSON.parse(
      (await sheaf(['fetch', '-k', '--json', '--repeat', '20', '--parallel', '5', `${url}/`])).out,
    ) as { requests: unknown[] };
    expect(repeated).toMatchObject({ status: 200, bytes: 20 * 15 });
    expect(repeated.requests).toHaveLength(20);

    const hq = await sheaf(['fetch', '-k', '--json', '--alpn', 'hq-interop', `${url}/large.bin`]);
    expect(JSON.parse(hq.out)).toMatchObject({ alpn: 'hq-interop', sha256: hash });

    const missing = await sheaf(['fetch', '-k', '--fail', `${url}/nothing`]);
    expect(missing.code).toBe(5);
    expect(missing.err).toContain('error[HTTP_STATUS]');

    const untrusted = await sheaf(['fetch', `${url}/`]);
    expect(untrusted.code).toBe(4);
    expect(untrusted.err).toContain('--insecure');

    const { sha256 } = JSON.parse((await sheaf(['cert', '--json'], site.directory)).out) as { sha256: string };
    expect((await sheaf(['fetch', '--certificate-hash', sha256, `${url}/`])).code).toBe(0);

    const table = await sheaf(['status'], site.directory);
    expect(table.out).toContain('serving');
    expect(table.out).toContain(`127.0.0.1:${site.port}`);
    const status = JSON.parse((await sheaf(['status', '--json'], site.directory)).out) as { requestsTotal: number };
    expect(status.requestsTotal).toBeGreaterThanOrEqual(25);
  });

  it('is abandoned by fetch after --timeout', async () => {
    const { route } = await lateUpstream();
    const site = await makeSite(route);
    await up(site);
    const { code, err } = await sheaf(['fetch', '-k', '--timeout', '0.3', `https://127.0.0.1:${site.port}/`]);
    expect([code, err.split(':')[0]]).toEqual([4, 'error[REQUEST_TIMEOUT]']);
  });
});

describe('sheaf fetch --path', () => {
  interface Report {
    alpn: string;
    sha256: string;
    paths: {
      id: number;
      local: string;
      remote: string;
      state: string;
      status: string;
      rtt_ms: number;
      bytes_sent: number;
      bytes_received: number;
      lost: number;
    }[];
  }

  it.each(['h3', 'hq-interop'])('uses each of them (%s)', async (alpn) => {
    const site = await makeSite('  - { path: /, files: ./site }\npath_scheduler: round-robin');
    await up(site);
    const { code, out, err } = await sheaf([
      'fetch',
      '-k',
      '--json',
      '--alpn',
      alpn,
      '--path',
      '127.0.0.1',
      '--path',
      `127.0.0.2>127.0.0.1:${site.port}`,
      '--path',
      '127.0.0.3,backup',
      `https://127.0.0.1:${site.port}/large.bin`,
    ]);
    expect([code, err]).toEqual([0, '']);
    const report = JSON.parse(out) as Report;
    expect(report).toMatchObject({ alpn, sha256: createHash('sha256').update(site.large).digest('hex') });
    const byAddress = Object.fromEntries(report.paths.map((path) => [path.local.split(':')[0], path]));
    expect(byAddress['127.0.0.1']).toMatchObject({
      id: 0,
      remote: `127.0.0.1:${site.port}`,
      state: 'active',
      status: 'available',
    });
    expect(byAddress['127.0.0.2']).toMatchObject({
      remote: `127.0.0.1:${site.port}`,
      state: 'active',
      status: 'available',
    });
    expect(byAddress['127.0.0.3']).toMatchObject({ status: 'backup' });
    for (const path of report.paths) {
      expect(path.rtt_ms).toBeGreaterThan(0);
      expect(path.bytes_sent).toBeGreaterThan(0);
      expect(path.lost).toBeGreaterThanOrEqual(0);
    }
    // More than it takes to open a path; how much each gets depends on the machine's load.
    expect(byAddress['127.0.0.1']?.bytes_received).toBeGreaterThan(20_000);
    expect(byAddress['127.0.0.2']?.bytes_received).toBeGreaterThan(20_000);
  });

  it('sends by the scheduler and with the congestion controller of its flags', async () => {
    const uploads = createServer((request, response) =>
      request.resume().once('end', () => response.end('taken')),
    ).listen(0, '127.0.0.1');
    onTestFinished(() => void uploads.close());
    await once(uploads, 'listening');
    const site = await makeSite(
      `  - { path: /, upstream: "http://127.0.0.1:${(uploads.address() as AddressInfo).port}" }`,
    );
    await up(site);
    const sent = async (flags: string[], paths = ['127.0.0.1', '127.0.0.2']): Promise<number[]> => {
      const { code, out, err } = await sheaf(
        [
          'fetch',
          '-k',
          '--json',
          ...flags,
          '--data',
          'site/large.bin',
          ...paths.flatMap((path) => ['--path', path]),
          `https://127.0.0.1:${site.port}/`,
        ],
        site.directory,
      );
      expect([code, err]).toEqual([0, '']);
      return (JSON.parse(out) as Report).paths.map(({ bytes_sent }) => bytes_sent);
    };
    const size = site.large.length;
    // On a busy machine a path may have to wait for its acknowledgements, or look broken, while the other has room.
    const patience = { timeout: 120_000, interval: 0 };
    await vi.waitFor(async () => {
      // How far the copies on the slower path come before all is there depends on the machine.
      for (const bytes of await sent(['--path-scheduler', 'redundant'])) expect(bytes).toBeGreaterThan(size / 20);
    }, patience);
    await vi.waitFor(async () => {
      const alone = await sent(['--path-scheduler', 'backup-only', '--congestion', 'bbr']);
      expect(Math.min(...alone)).toBeLessThan(size / 4);
    }, patience);
    await vi.waitFor(async () => {
      const [light = 0, heavy = 0] = await sent(['--path-scheduler', 'weighted'], ['127.0.0.1', '127.0.0.2,weight=8']);
      expect(heavy).toBeGreaterThan(light);
    }, patience);
    await vi.waitFor(async () => {
      const [first = 0, second = 0] = await sent(
        ['--path-scheduler', 'weighted'],
        ['127.0.0.1,weight=8', '127.0.0.2,weight=1'],
      );
      expect(first).toBeGreaterThan(second);
    }, patience);
  });

  it('names what is wrong with an address', async () => {
    const site = await makeSite();
    await up(site);
    const url = `https://127.0.0.1:${site.port}/`;
    for (const paths of [['192.0.2.1'], ['127.0.0.1', '192.0.2.1']]) {
      const { code, err } = await sheaf(['fetch', '-k', ...paths.flatMap((path) => ['--path', path]), url]);
      expect(code).toBe(3);
      expect(err).toContain(
        'error[ADDRESS_UNAVAILABLE]: --path 192.0.2.1 begins at an address that is not on this machine',
      );
      expect(err).toContain('hint: `ip address`');
    }
  });

  it('goes on with one path where the server does not speak multipath, or another does not come about', async () => {
    const single = await makeSite('  - { path: /, files: ./site }\nmultipath: false');
    await up(single);
    const plain = await sheaf([
      'fetch',
      '-k',
      '--path',
      '127.0.0.1',
      '--path',
      '127.0.0.2',
      `https://127.0.0.1:${single.port}/`,
    ]);
    expect(plain).toEqual({
      code: 0,
      out: '<h1>hello</h1>\n',
      err: 'warning: the server does not speak multipath: one path is used\n',
    });

    const site = await makeSite();
    await up(site);
    const dark = await sheaf([
      'fetch',
      '-k',
      '--path',
      '127.0.0.1',
      '--path',
      '127.0.0.2>127.0.0.9',
      `https://127.0.0.1:${site.port}/`,
    ]);
    expect(dark).toEqual({
      code: 0,
      out: '<h1>hello</h1>\n',
      err: 'warning: path 127.0.0.2>127.0.0.9 is not used: nothing came back on the new path\n',
    });
  });

  it('shows in `sheaf status`', async () => {
    const { arrived, route } = await lateUpstream();
    const site = await makeSite(route);
    await up(site);
    void sheaf([
      'fetch',
      '-k',
      '--timeout',
      '60',
      '--path',
      '127.0.0.1',
      '--path',
      '127.0.0.2,backup',
      `https://127.0.0.1:${site.port}/`,
    ]);
    await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), 30_000);
    // The second path may begin after the request.
    const bothPaths = async (): Promise<void> => {
      const { connections } = JSON.parse((await sheaf(['status', '--json'], site.directory)).out) as {
        connections: { multipath: boolean; paths: { state: string; peerStatus: string }[] }[];
      };
      expect(connections[0]).toMatchObject({
        multipath: true,
        paths: [
          { state: 'active', peerStatus: 'available' },
          { state: 'active', peerStatus: 'backup' },
        ],
      });
    };
    await vi.waitFor(bothPaths, 30_000);
    const { out } = await sheaf(['status'], site.directory);
    expect(out).toMatch(/path +state +local +remote +rtt +lost +window +sent +received/);
    expect(out).toMatch(
      new RegExp(
        `0 +active +127\\.0\\.0\\.1:${site.port} +127\\.0\\.0\\.1:\\d+ +[\\d.]+ ms +\\d+/\\d+ +\\d+ +\\d+ +\\d+`,
      ),
    );
    expect(out).toMatch(new RegExp(`\\d+ +active, backup +127\\.0\\.0\\.1:${site.port} +127\\.0\\.0\\.2:\\d+ `));
  });
});

describe('sheaf fetch -o', () => {
  it('leaves what was there when the response breaks off, and nothing else', async () => {
    const upstream = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': '1000000' });
      response.write(Buffer.alloc(500_000), () => response.destroy());
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    onTestFinished(() => void upstream.close());
    const site = await makeSite(`  - { upstream: "http://127.0.0.1:${(upstream.address() as AddressInfo).port}" }`);
    await up(site);
    await writeFile(join(site.directory, 'kept'), 'before');
    const { code } = await sheaf(['fetch', '-k', '-o', 'kept', `https://127.0.0.1:${site.port}/`], site.directory);
    expect(code).toBe(4);
    expect(await readFile(join(site.directory, 'kept'), 'utf8')).toBe('before');
    expect((await readdir(site.directory)).filter((name) => name.includes('part'))).toEqual([]);
  });

  it('replaces the file at the end, keeps it with --fail, and follows a link', async () => {
    const site = await makeSite();
    await up(site);
    const path = (name: string) => join(site.directory, name);
    await writeFile(path('kept'), 'before', { mode: 0o600 });
    await symlink(path('kept'), path('link'));
    expect(
      (await sheaf(['fetch', '-k', '--fail', '-o', 'kept', `https://127.0.0.1:${site.port}/none`], site.directory))
        .code,
    ).toBe(5);
    expect(await readFile(path('kept'), 'utf8')).toBe('before');
    expect((await sheaf(['fetch', '-k', '-o', 'link', `https://127.0.0.1:${site.port}/`], site.directory)).code).toBe(
      0,
    );
    expect(await readFile(path('kept'), 'utf8')).toBe('<h1>hello</h1>\n');
    expect((await stat(path('kept'))).mode & 0o777).toBe(0o600);
    expect(
      (await sheaf(['fetch', '-k', '-o', '/dev/null', `https://127.0.0.1:${site.port}/`], site.directory)).code,
    ).toBe(0);
  });

  it('takes its part away when it is interrupted', async () => {
    const { arrived, route } = await lateUpstream();
    const site = await makeSite(route);
    await up(site);
    const running = start(['fetch', '-k', '-o', 'late', `https://127.0.0.1:${site.port}/`], site.directory);
    await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), 30_000);
    expect((await readdir(site.directory)).some((name) => name.endsWith('.part'))).toBe(true);
    running.child.kill('SIGINT');
    expect(await running.exit).toBe(130);
    expect((await readdir(site.directory)).some((name) => name.startsWith('late'))).toBe(false);
  });

  it.each([
    [['-o', 'none/file'], 3, 'its directory does not exist'],
    [['-o', 'site'], 3, 'it is a directory'],
    [['-d', 'none'], 2, '--data none cannot be read'],
  ])('%s is refused with its cause', async (args, expected, message) => {
    const site = await makeSite();
    const { code, err } = await sheaf(['fetch', '-k', ...args, `https://127.0.0.1:${site.port}/`], site.directory);
    expect(code).toBe(expected);
    expect(err).toContain(message);
  });

  it('says that own headers are too large', async () => {
    const site = await makeSite();
    await up(site);
    const { code, err } = await sheaf(
      ['fetch', '-k', '-H', `x: ${'a'.repeat(40_000)}`, `https://127.0.0.1:${site.port}/`],
      site.directory,
    );
    expect(code).toBe(2);
    expect(err).toContain('hint: shorten what --header gives');
  });
});

describe('a file with several nodes', () => {
  async function makeNodes(): Promise<Site> {
    const site = await makeSite();
    const [edge, edgeAdmin] = [await freePort(), await freePort()];
    const gateway = `role: gateway, listen: "127.0.0.1:${site.port}", admin: "127.0.0.1:${site.admin}", routes: [{ files: ./site }]`;
    const laptop = `role: edge, listen: "127.0.0.1:${edge}", admin: "127.0.0.1:${edgeAdmin}", gateway: center, paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2 }]`;
    await writeFile(join(site.directory, 'sheaf.yaml'), `nodes:\n  center: { ${gateway} }\n  laptop: { ${laptop} }\n`);
    return { ...site, port: edge };
  }

  it('is served by one process, which names them, shows them, and drains them all', async () => {
    const site = await makeNodes();
    expect(await sheaf(['check'], site.directory)).toMatchObject({ code: 0, out: 'Valid configuration\n' });
    const running = await up(site);
    await vi.waitFor(() => expect(running.out().match(/next: /g)).toHaveLength(2), 30_000);
    expect(running.out().split('\n')[0]).toMatch(/^sheaf \S+ ready in \d+ ms: center \(gateway\), laptop \(edge\)$/);
    const { out } = await sheaf(['fetch', '-k', '--json', `https://127.0.0.1:${site.port}/large.bin`], site.directory);
    expect(JSON.parse(out)).toMatchObject({
      status: 200,
      bytes: site.large.length,
      sha256: createHash('sha256').update(site.large).digest('hex'),
    });
    await vi.waitFor(async () => {
      const [center = '', laptop = ''] = (await sheaf(['status'], site.directory)).out.split(/^node/m).slice(1);
      expect(center).toContain('center (gateway)');
      expect(laptop).toContain('laptop (edge)');
      for (const address of ['127.0.0.1', '127.0.0.2']) expect(laptop).toMatch(new RegExp(`active +${address}:`));
    }, 30_000);
    const statuses = (await sheaf(['status', '--json'], site.directory)).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(statuses).toMatchObject([
      { node: 'center', role: 'gateway', requestsTotal: 1 },
      { node: 'laptop', role: 'edge', requestsTotal: 1, gateway: { state: 'open' } },
    ]);
    expect((await sheaf(['status', '--json', '--node', 'laptop'], site.directory)).out.trim().split('\n')).toHaveLength(
      1,
    );
    running.child.kill('SIGTERM');
    expect(await running.exit).toBe(0);
  });

  it('is served by a process for each node', async () => {
    const site = await makeNodes();
    const nodes = ['laptop', 'center'].map((name) => start(['up', 'sheaf.yaml', '--node', name], site.directory));
    for (const { out, err } of nodes) await vi.waitFor(() => expect(out() + err()).toMatch(/ready/), 30_000);
    const { code, out } = await sheaf(['fetch', '-k', '--json', `https://127.0.0.1:${site.port}/`], site.directory);
    expect([code, JSON.parse(out)]).toMatchObject([0, { status: 200 }]);
    for (const { child } of nodes) child.kill('SIGTERM');
    expect(await Promise.all(nodes.map(({ exit }) => exit))).toEqual([0, 0]);
    expect(await sheaf(['up', 'sheaf.yaml', '--node', 'laptpo'], site.directory)).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean `laptop`?') as string,
    });
  });
});

describe('sheaf demo', () => {
  it('serves the demo site until Ctrl-C', async () => {
    const world = await testWorld(['demo', '--port', '0', '--http-port', '0']);
    const code = run(world);
    await vi.waitFor(() => expect(world.out() + world.err()).toMatch(/next: |error\[/), 50_000);
    const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(world.out())?.[0] ?? '';
    expect(await (await fetch(url)).text()).toContain('<html');
    const upload = await fetch(new URL('/upload', url), { method: 'POST', body: 'abc' });
    expect(await upload.json()).toMatchObject({ bytes: 3 });
    world.signal('SIGINT');
    expect(await code).toBe(0);
  });
});

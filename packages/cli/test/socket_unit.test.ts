import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GatewayStatus } from '@sheaf/gateway';
import { expect, it, onTestFinished } from 'vitest';
import { deployed, makeSite } from './support/deployable.js';
import { missing } from './support/deploy_checks.js';
import { pageOf } from './support/page_of.js';
import { freePort, launchCommand, program } from './support/process.js';
import { socketsOf } from './support/process_sockets.js';
import { managedService, type ManagedService } from './support/restarting_manager.js';
import { answerToOnePacket, statusOverHttp3 } from './support/waiting_clients.js';
import { temporaryDirectory } from './support/world.js';

interface Site {
  directory: string;
  port: number;
  http: number;
  admin: number;
  /** Returns a configuration with the site in this directory, and with these further lines. */
  yaml(site: string, further: string): string;
}

async function makeNode(further: string): Promise<Site> {
  const directory = await temporaryDirectory();
  const [port, http, admin] = [await freePort(), await freePort(), await freePort()];
  await makeSite(directory);
  await writeFile(join(directory, 'site', 'a.txt'), 'hello');
  const yaml: Site['yaml'] = (site, lines) => `listen: 127.0.0.1:${port}
http: 127.0.0.1:${http}
admin: 127.0.0.1:${admin}
tls: { cert: ./cert.pem, key: ./key.pem }
routes: [{ files: ${site} }]
${lines}`;
  await writeFile(join(directory, 'sheaf.yaml'), yaml('./site', further));
  return { directory, port, http, admin, yaml };
}

/** A service with the sockets of the unit that `sheaf deploy` writes for it */
async function deployedService({ directory, yaml }: Site, further: string): Promise<ManagedService> {
  // A unit hides /tmp, where the site is. The manager of this test hides nothing.
  const { out } = await deployed(yaml('/srv/site', further), 'systemd', '--socket-unit');
  return managedService(['up'], directory, join(out, 'sheaf@gateway.socket'));
}

/** Returns the status of `/a.txt` over HTTP/2. */
async function statusOverHttp2(port: number): Promise<unknown> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  const stream = session.request({ ':path': '/a.txt' });
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  await once(stream.resume(), 'end');
  session.close();
  return headers[':status'];
}

const served = (port: number): Promise<unknown[]> =>
  Promise.all([
    statusOverHttp3(port),
    statusOverHttp3(port),
    statusOverHttp2(port),
    statusOverHttp2(port),
    pageOf({ port }),
  ]);
const all = [200, 200, 200, 200, 'hello'];

it.each([
  ['several workers', 'workers: 2\n', 6],
  ['no workers', '', 3],
])(
  'a node with %s serves by the sockets of its unit, also clients that came while it was stopped',
  async (_what, yaml, count) => {
    const site = await makeNode(yaml);
    const service = await deployedService(site, yaml);
    const opened = await service.opened();
    expect(opened).toHaveLength(count);
    // Before its first start, clients wait as well.
    const waiting = served(site.port);
    const first = await service.start();
    expect(await waiting).toEqual(all);
    expect(socketsOf(first)).toEqual(expect.arrayContaining(opened));
    await service.kill(first, 'SIGTERM');
    const answers = Promise.all(Array.from({ length: 8 }, () => answerToOnePacket(site.port)));
    const between = served(site.port);
    const tcp = connect(site.port, '127.0.0.1');
    onTestFinished(() => void tcp.destroy());
    await once(tcp, 'connect');
    await service.start();
    expect(await answers).toEqual(Array(8).fill(0));
    expect(await between).toEqual(all);
    // The manager has them, and needs no copies.
    expect(service.kept()).toEqual({});
    expect(service.err()).not.toContain('warning: the service manager');
  },
);

it('the kernel finds the worker of a connection id among the sockets of a unit', async () => {
  const site = await makeNode('workers: 3\n');
  const service = await deployedService(site, 'workers: 3\n');
  await service.start();
  for (let i = 0; i < 8; i++) expect(await statusOverHttp3(site.port)).toBe(200);
  const status = (await (await fetch(`http://127.0.0.1:${site.admin}/status`)).json()) as GatewayStatus;
  expect(status.steering).toBe('ids');
  expect(status.workers!.map(({ datagrams }) => datagrams.passedOn)).toEqual([0, 0, 0]);
});

it('a node whose unit has other sockets than it needs says so, and does not start', async () => {
  const site = await makeNode('workers: 3\n');
  const service = await deployedService(site, 'workers: 2\n');
  await service.startInVain();
  expect(service.err()).toContain('SOCKETS_UNFIT');
  expect(service.err()).toContain(`has opened 2 sockets of TCP 127.0.0.1:${site.port}, and not 3`);
});

it('what a reload opens is kept beside the sockets of the unit, also after an upgrade', async () => {
  const site = await makeNode('workers: 1\n');
  const service = await deployedService(site, 'workers: 1\n');
  const first = await service.start();
  const other = await freePort();
  const yaml = site.yaml('./site', 'workers: 1\n').replace(`http: 127.0.0.1:${site.http}`, `http: 127.0.0.1:${other}`);
  await writeFile(join(site.directory, 'sheaf.yaml'), yaml);
  process.kill(first, 'SIGHUP');
  await expect.poll(() => Object.keys(service.kept())).toEqual([expect.stringMatching(/^http-/)]);
  const kept = service.kept();
  process.kill(first, 'SIGUSR2');
  await expect.poll(() => service.messages().at(-1), { timeout: 30_000 }).toMatch(/^READY=1\n[^]*MAINPID=/);
  expect(service.kept()).toEqual(kept);
  process.kill(Number(service.messages().at(-1)!.split('=').at(-1)), 'SIGKILL');
  await service.start();
  expect(await served(site.port)).toEqual(all);
  expect((await fetch(`http://127.0.0.1:${other}/a.txt`)).status).toBe(200);
  expect(service.kept()).toEqual(kept);
  expect(service.err()).toContain(`has opened TCP 127.0.0.1:${site.http}, where no node listens`);
});

const activate = '/usr/bin/systemd-socket-activate';
const absent = missing(activate, ['--version']);

it.skipIf(absent !== undefined)(
  `a node serves by sockets that systemd itself opened${absent === undefined ? '' : ` (skipped: ${absent})`}`,
  async () => {
    const { directory, port, http } = await makeNode('workers: 1\n');
    // One run opens sockets of one kind, and passes on what it got.
    const inner = [activate, '-d', '-l', `127.0.0.1:${port}`, '--fdname=sheaf', process.execPath, program, 'up'];
    const args = ['-l', `127.0.0.1:${port}`, '-l', `127.0.0.1:${http}`, ...inner];
    const running = launchCommand(activate, args, directory);
    onTestFinished(() => void running.child.kill('SIGKILL'));
    await expect.poll(() => running.err()).toContain('Listening on');
    expect(await served(port)).toEqual(all);
    expect(running.err()).not.toContain('warning');
  },
);

import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { pageOf } from './support/page_of.js';
import { freePort, start } from './support/process.js';
import { socketsOf } from './support/process_sockets.js';
import { managedService, type ManagedService } from './support/restarting_manager.js';
import { answerToOnePacket, statusOverHttp3 } from './support/waiting_clients.js';
import { temporaryDirectory } from './support/world.js';

interface Site {
  port: number;
  service: ManagedService;
  /** Writes the configuration with these further lines. */
  configure(yaml: string): Promise<void>;
}

async function managedSite(yaml: string): Promise<Site> {
  const [directory, port] = [await temporaryDirectory(), await freePort()];
  await writeFile(join(directory, 'a.txt'), 'hello');
  const configure = (further: string): Promise<void> =>
    writeFile(join(directory, 'sheaf.yaml'), `listen: 127.0.0.1:${port}\nroutes: [{ files: . }]\n${further}`);
  await configure(yaml);
  return { port, service: await managedService(['up'], directory), configure };
}

/** Names without what they hash */
const shortNames = (kept: Record<string, number>): string[] =>
  Object.keys(kept)
    .map((name) => name.replace(/[0-9a-f]{32}/, ''))
    .sort();

it.each([
  ['a node with workers', 'workers: 2\n', ['tcp-0-0', 'tcp-0-1', 'udp-0-0', 'udp-0-1']],
  ['a node without', '', ['tcp-0-0', 'udp-0-0']],
])(
  'the successor of a killed process serves by the same sockets, also what came in between: %s',
  async (_, yaml, names) => {
    const { port, service } = await managedSite(yaml);
    const first = await service.start();
    const kept = service.kept();
    expect(shortNames(kept)).toEqual(names.map((name) => `listen--${name}`));
    await service.kill(first);
    const overTcp = Promise.all([pageOf({ port }), pageOf({ port }), pageOf({ port }), pageOf({ port })]);
    const [answer, overUdp] = [answerToOnePacket(port), statusOverHttp3(port)];
    const waiting = connect(port, '127.0.0.1');
    onTestFinished(() => void waiting.destroy());
    await once(waiting, 'connect');
    const second = await service.start();
    expect(await overTcp).toEqual(['hello', 'hello', 'hello', 'hello']);
    expect(await answer).toBe(0);
    expect(await overUdp).toBe(200);
    expect(service.kept()).toEqual(kept);
    expect(socketsOf(second)).toEqual(expect.arrayContaining(Object.values(kept)));
  },
);

it('what another configuration does not want is closed before its nodes open their own', async () => {
  const { port, service, configure } = await managedSite('workers: 2\n');
  await service.kill(await service.start());
  const before = service.kept();
  // The sockets of two workers are of no use for one, and would keep the address.
  await configure('workers: 1\n');
  await service.kill(await service.start(), 'SIGTERM');
  expect(service.messages().at(-1)).toMatch(/^STOPPING=1\n/);
  expect(Object.keys(service.kept()).filter((name) => name in before)).toEqual([]);
  expect(shortNames(service.kept())).toEqual(['listen--tcp-0-0', 'listen--udp-0-0']);
  // Whether a thread of its own serves makes no difference to them.
  const kept = service.kept();
  await configure('');
  await service.start();
  expect(service.kept()).toEqual(kept);
  expect(await pageOf({ port })).toBe('hello');
});

it('the manager keeps what a reload opens, and what the process has after an upgrade', async () => {
  const { service, configure, port } = await managedSite('workers: 1\n');
  const first = await service.start();
  const before = service.kept();
  const http = await freePort();
  await configure(`workers: 1\nhttp: 127.0.0.1:${http}\n`);
  process.kill(first, 'SIGHUP');
  await expect.poll(() => shortNames(service.kept())).toEqual(['http--tcp-0-0', ...shortNames(before)]);
  expect(service.kept()).toMatchObject(before);
  await configure('workers: 1\n');
  process.kill(first, 'SIGUSR2');
  await expect.poll(() => service.messages().at(-1), { timeout: 30_000 }).toMatch(/^READY=1\n[^]*MAINPID=/);
  expect(service.kept()).toEqual(before);
  expect(await pageOf({ port })).toBe('hello');
  process.kill(Number(service.messages().at(-1)!.split('=').at(-1)), 'SIGKILL');
});

it('all nodes that the main thread serves keep their sockets, over a reload and a crash', async () => {
  const directory = await temporaryDirectory();
  const [site, backbone, images, edge, http] = await Promise.all([1, 2, 3, 4, 5].map(() => freePort()));
  await writeFile(join(directory, 'a.txt'), 'hello');
  const configure = (further: string): Promise<void> =>
    writeFile(
      join(directory, 'sheaf.yaml'),
      `nodes:
  site: { role: gateway, listen: "127.0.0.1:${site}", backbone: "127.0.0.1:${backbone}", backends: [images], routes: [{ backends: [images] }]${further} }
  images: { role: backend, listen: "127.0.0.1:${images}", backbone: "127.0.0.1:0", primary: site, routes: [{ files: . }] }
  laptop: { role: edge, listen: "127.0.0.1:${edge}", gateway: site }
`,
    );
  await configure('');
  const service = await managedService(['up'], directory);
  const first = await service.start();
  const before = service.kept();
  expect(shortNames(before)).toEqual([
    'backbone--udp-0-0',
    'backbone--udp-0-0',
    ...Array<string>(3).fill('listen--tcp-0-0'),
    ...Array<string>(3).fill('listen--udp-0-0'),
  ]);
  await configure(`, http: "127.0.0.1:${http}"`);
  process.kill(first, 'SIGHUP');
  await expect.poll(() => shortNames(service.kept())).toContain('http--tcp-0-0');
  expect(service.kept()).toMatchObject(before);
  const kept = service.kept();
  await service.kill(first);
  const pages = Promise.all([site!, images!, edge!].map((port) => pageOf({ port })));
  const second = await service.start();
  expect(await pages).toEqual(['hello', 'hello', 'hello']);
  expect((await fetch(`http://127.0.0.1:${http}/a.txt`)).status).toBe(200);
  expect(service.kept()).toEqual(kept);
  expect(socketsOf(second)).toEqual(expect.arrayContaining(Object.values(kept)));
});

it('a gateway without workers joins a backend of its machine at its port, and keeps its sockets', async () => {
  const directory = await temporaryDirectory();
  const [port, backbone, listen, ofBackend] = await Promise.all([1, 2, 3, 4].map(() => freePort()));
  await writeFile(join(directory, 'a.txt'), 'hello');
  await writeFile(
    join(directory, 'sheaf.yaml'),
    `nodes:
  site: { role: gateway, listen: "127.0.0.1:${port}", backbone: "127.0.0.1:${backbone}", backends: [images], routes: [{ backends: [images] }] }
  images:
    role: backend
    listen: 127.0.0.1:${listen}
    backbone: 127.0.0.1:${ofBackend}
    primary: site
    return: { from: "127.0.0.1:${port}", via: own-address }
    routes: [{ files: . }]
`,
  );
  const backend = start(['up', '--node', 'images'], directory);
  await expect.poll(() => backend.out(), { timeout: 30_000 }).toContain('ready');
  const service = await managedService(['up', '--node', 'site'], directory);
  const first = await service.start();
  const kept = service.kept();
  await service.kill(first);
  const page = pageOf({ port: port! });
  await service.start();
  expect(await page).toBe('hello');
  expect(service.kept()).toEqual(kept);
});

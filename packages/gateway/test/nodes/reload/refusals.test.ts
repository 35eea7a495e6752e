import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createDevCertificate } from '../../../src/tls/dev_certificate.js';
import { freePort } from '../../../src/client.js';
import { get } from '../../support/client.js';
import { RunningConfiguration } from '../../../src/nodes/reload/running_configuration.js';
import type { WorkersNode } from '../../../src/workers/workers_node.js';
import { logTo } from '../../support/nodes.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';
import { writeFiles } from '../../support/write_files.js';
import { startReloading, type Reloading, type ReloadingSite } from '../../support/reloading.js';

const before = 'listen: 127.0.0.1:0\nroutes: [{ files: ./old }]\n';
const files = { 'old/a.txt': 'old', 'new/a.txt': 'new' };

const start = (more: Partial<ReloadingSite> = {}): Promise<Reloading> =>
  startReloading({ yaml: before, files, ...more });

/** Expects that a document is refused with this code, and that nothing has changed. */
async function expectRefusal(site: Reloading, yaml: string, code: string): Promise<void> {
  const { version, since } = site.status().configuration!;
  const outcome = await site.change(yaml);
  expect(outcome).toMatchObject({ accepted: false, refusal: { code } });
  expect((await get(site.port, '/a.txt')).body.toString()).toBe('old');
  const { configuration } = site.status();
  expect(configuration).toMatchObject({ version, since, refused: { code } });
  expect(configuration!.refused!.text).toContain('hint: ');
  expect(site.log.at(-2)).toMatchObject({ msg: expect.stringContaining('refused') as string, code });
}

it.each([
  ['syntax', 'routes: [', 'CONFIG_SYNTAX'],
  ['an unknown key', 'listen: 127.0.0.1:0\nroutes: [{ files: ./new }]\nrouts: 1\n', 'CONFIG_UNKNOWN_KEY'],
  ['a value', 'listen: 127.0.0.1:0\nroutes: [{ files: ./new }]\nlimits: { drain: soon }\n', 'CONFIG_VALUE'],
  ['a directory that is missing', 'listen: 127.0.0.1:0\nroutes: [{ files: ./none }]\n', 'CONFIG_PATH'],
  [
    'a certificate that is missing',
    'listen: 127.0.0.1:0\nroutes: [{ files: ./new }]\ntls: { cert: none.pem, key: none.key }\n',
    'CONFIG_CERTIFICATE',
  ],
  [
    'an application that fails',
    'listen: 127.0.0.1:0\nroutes: [{ files: ./new }, { path: /app, webtransport: ./app.mjs }]\n',
    'APPLICATION_INVALID',
  ],
  ['an option of the endpoint', `${before}multipath: false\n`, 'RELOAD_NEEDS_RESTART'],
  ['a limit of the endpoint', `${before}limits: { connections: 5 }\n`, 'RELOAD_NEEDS_RESTART'],
  [
    'the names of nodes',
    'nodes: { site: { role: gateway, listen: "127.0.0.1:0", routes: [{ files: ./new }] } }',
    'RELOAD_NEEDS_RESTART',
  ],
])('a fault changes nothing: %s', async (_kind, yaml, code) => {
  await expectRefusal(await start({ files: { ...files, 'app.mjs': 'export const nothing = 1;' } }), yaml, code);
});

it('a file that is gone changes nothing', async () => {
  const site = await start();
  await rm(site.file);
  expect(await site.running.reload()).toMatchObject({ accepted: false, refusal: { code: 'CONFIG_NOT_FOUND' } });
  expect((await get(site.port, '/a.txt')).body.toString()).toBe('old');
});

it('a port that is taken changes nothing, and what was opened before it is closed again', async () => {
  const site = await start();
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const [listen, http] = [await freePort(), await freePort()];
  const yaml = `listen: 127.0.0.1:${listen}\nhttp: 127.0.0.1:${http}\nadmin: 127.0.0.1:${port}\nroutes: [{ files: ./new }]\n`;
  await expectRefusal(site, yaml, 'PORT_TAKEN');
  for (const opened of [listen, http]) {
    const again = createServer().listen(opened, '127.0.0.1');
    await once(again, 'listening');
    again.close();
  }
});

it('a certificate that does not go with its key changes nothing', async () => {
  const [one, other] = [
    await createDevCertificate(['localhost'], new Date()),
    await createDevCertificate(['localhost'], new Date()),
  ];
  const site = await start({ files: { ...files, 'cert.pem': one.certificate, 'key.pem': other.privateKey } });
  const hash = site.gateway.certificate.hash;
  const tls = `tls: { cert: ${join(site.directory, 'cert.pem')}, key: ${join(site.directory, 'key.pem')} }\n`;
  await expectRefusal(site, `${before}${tls}`, 'CONFIG_CERTIFICATE');
  expect(site.gateway.certificate.hash).toBe(hash);
});

/** A module that never loads */
const never = 'await new Promise(() => undefined);\nexport default () => undefined;\n';
const withModule = `${before}  - { path: /app, webtransport: ./app.mjs }\n`.replace(
  'routes: [{ files: ./old }]',
  'routes:\n  - { files: ./old }',
);

it('an application that never loads changes nothing, and holds up no later reload', async () => {
  const site = await start({ files: { ...files, 'app.mjs': never }, readyMs: 300 });
  await expectRefusal(site, withModule, 'RELOAD_REFUSED');
  expect(await site.change(before.replace('old', 'new'))).toMatchObject({ accepted: true });
  expect((await get(site.port, '/a.txt')).body.toString()).toBe('new');
});

it('what gets ready too late opens nothing any more', async () => {
  const site = await start({ readyMs: 300 });
  const [listen, http] = [await freePort(), await freePort()];
  const name = `goOn${http}`;
  const module = `export default () => undefined;\nawait new Promise((go) => (globalThis.${name} = go));\nglobalThis.${name} = undefined;\n`;
  await writeFile(join(site.directory, 'app.mjs'), module);
  const yaml = withModule.replace(':0', `:${listen}`).replace('\n', `\nhttp: 127.0.0.1:${http}\n`);
  await expectRefusal(site, yaml, 'RELOAD_REFUSED');
  const them = globalThis as unknown as Record<string, (() => void) | undefined>;
  them[name]!();
  await vi.waitFor(() => expect(them[name]).toBeUndefined(), 30_000);
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise(setImmediate);
    for (const port of [listen, http]) await expect(get(port, '/a.txt')).rejects.toThrow('ECONNREFUSED');
  }
  expect((await get(site.port, '/a.txt')).body.toString()).toBe('old');
});

it('a node that is ready is given back when another one of the file never is', async () => {
  const gateway = (root: string): string =>
    `nodes:\n  site:\n    role: gateway\n    listen: 127.0.0.1:0\n    workers: 1\n    routes: [{ files: ./${root} }]\n`;
  const other = (route: string): string =>
    `  other:\n    role: gateway\n    listen: 127.0.0.1:0\n    routes: [{ files: ./old }${route}]\n`;
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...files, 'app.mjs': never, 'sheaf.yaml': gateway('old') + other('') });
  const file = join(directory, 'sheaf.yaml');
  const running = await RunningConfiguration.start({
    file,
    choose: ({ nodes }) => nodes,
    node: { logStream: logTo([]) },
    now: () => new Date(),
    readyMs: 2_000,
  });
  onTestFinished(() => running.close(0));
  await writeFile(file, gateway('new') + other(', { path: /app, webtransport: ./app.mjs }'));
  expect(await running.reload()).toMatchObject({ accepted: false, refusal: { code: 'RELOAD_REFUSED' } });
  await writeFile(file, gateway('new') + other(''));
  expect(await running.reload()).toMatchObject({ accepted: true });
  const { address } = running.nodes[0] as WorkersNode;
  expect((await get(address.port, '/a.txt')).body.toString()).toBe('new');
});

it('nodes stop while they wait for an application that never loads', async () => {
  const site = await start({ files: { ...files, 'app.mjs': never } });
  const outcome = site.change(withModule);
  await site.running.close(0);
  expect(await outcome).toMatchObject({ accepted: false, refusal: { message: 'the node is stopping' } });
});

it('a pipe in place of a certificate changes nothing', async () => {
  const site = await start();
  execFileSync('mkfifo', [join(site.directory, 'pipe.pem')]);
  await expectRefusal(site, `${before}tls: { cert: ./pipe.pem, key: ./pipe.pem }\n`, 'CONFIG_CERTIFICATE');
});

it('a document that is accepted clears the refusal of the one before, and has its own version and time', async () => {
  let now = Date.parse('2026-03-01T10:00:00Z');
  const site = await start({ now: () => new Date(now) });
  const first = site.status().configuration!;
  expect(first).toMatchObject({ source: site.file, since: '2026-03-01T10:00:00.000Z' });
  now += 60_000;
  await site.change('routes: [');
  expect(site.status().configuration).toMatchObject({ ...first, refused: { at: '2026-03-01T10:01:00.000Z' } });
  now += 60_000;
  const outcome = await site.change(before.replace('old', 'new'));
  expect(outcome).toMatchObject({
    accepted: true,
    changes: [{ node: 'gateway', option: 'routes', change: 'changed', name: '/' }],
  });
  const { version, since, refused } = site.status().configuration!;
  expect([since, refused]).toEqual(['2026-03-01T10:02:00.000Z', undefined]);
  expect(version).not.toBe(first.version);
  expect((await get(site.port, '/a.txt')).body.toString()).toBe('new');
});

it('the same document changes nothing, and keeps its time', async () => {
  let now = 0;
  const site = await start({ now: () => new Date((now += 1_000)) });
  const { since } = site.status().configuration!;
  expect(await site.running.reload()).toMatchObject({ accepted: true, changes: [], warnings: [] });
  expect(site.status().configuration).toMatchObject({ since });
});

it('reloads that are asked for at once run one after the other, and end by the latest document', async () => {
  const site = await start();
  const outcomes = await Promise.all([
    site.change(before.replace('old', 'new')),
    site.running.reload(),
    site.running.reload(),
  ]);
  expect(outcomes.every(({ accepted }) => accepted)).toBe(true);
  expect(site.log.filter(({ msg }) => msg === 'configuration reloaded')).toHaveLength(2);
  expect((await get(site.port, '/a.txt')).body.toString()).toBe('new');
});

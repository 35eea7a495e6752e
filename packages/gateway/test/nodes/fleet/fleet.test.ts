import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { publishDocument } from '../../../src/nodes/fleet/publish.js';
import { parseConfiguration } from '../../../src/configuration/load.js';
import { RunningConfiguration } from '../../../src/nodes/reload/running_configuration.js';
import type { FrontNodeStatus } from '../../../src/observability/status.js';
import { signEntry } from '../../../src/registry/entry.js';
import { FileDriver } from '../../../src/registry/file_driver.js';
import { nodeKeyFile, NodeKey, readNodeKey } from '../../../src/values/node_key.js';
import { formatSecrets, renewSecrets } from '../../../src/tls/server_secrets.js';
import { logTo } from '../../support/nodes.js';
import { get } from '../../support/client.js';
import { machine, type Machine } from '../../support/fleet_process.js';
import { startNats } from '../../support/nats_server.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

const patience = { timeout: 60_000 };

/** Configurations of a gateway and of a backend, which know each other by keys alone */
async function pair(registry: string) {
  const [gateway, backend] = [await machine(), await machine()];
  const [site, b] = [await gateway.key('site'), await backend.key('b')];
  await writeFile(join(backend.directory, 'site', 'a.txt'), 'from the backend');
  const listen = 'listen: 127.0.0.1:0, backbone: 127.0.0.1:0';
  return {
    gateway,
    backend,
    ofGateway: `nodes: { site: { role: gateway, ${listen}, backends: [{ name: b, public_key: "${b}" }], routes: [{ backends: [b] }] } }\n${registry}`,
    ofBackend: `nodes: { b: { role: backend, ${listen}, primary: { name: site, public_key: "${site}" }, routes: [{ files: ./site }] } }\n${registry}`,
  };
}

it.each(['file', 'nats'])('a gateway finds its backend through a registry in %s, wherever it is', async (kind) => {
  const registry =
    kind === 'file'
      ? `registry: { file: "${join(await temporaryDirectory(), 'registry')}" }\n`
      : `registry: { nats: "${(await startNats()).url}" }\n`;
  const { gateway, backend, ofGateway, ofBackend } = await pair(registry);
  const site = await gateway.start(ofGateway);
  const answer = async (): Promise<string> => {
    const { status, body } = await get(site.node.address.port, '/a.txt');
    return status === 200 ? body.toString() : String(status);
  };
  const first = await backend.start(ofBackend);
  await expect.poll(answer, patience).toBe('from the backend');
  const { registry: told } = site.status();
  expect(told?.nodes.map(({ name, role, state, own }) => [name, role, state, own])).toEqual([
    ['b', 'backend', 'alive', false],
    ['site', 'gateway', 'alive', true],
  ]);
  expect(told?.nodes[0]?.configuration).toBe(first.running.status().version);
  await first.running.close(0);
  await expect.poll(() => site.status().registry?.nodes.map(({ name }) => name), patience).toEqual(['site']);
  // It comes back with other ports.
  await backend.start(ofBackend);
  await expect.poll(answer, patience).toBe('from the backend');
});

it('a gateway whose backend nobody has announced says so, and serves its other routes', async () => {
  const registry = `registry: { file: "${join(await temporaryDirectory(), 'registry')}" }\n`;
  const { gateway, ofGateway } = await pair(registry);
  await writeFile(join(gateway.directory, 'site', 'own.txt'), 'own');
  const site = await gateway.start(ofGateway.replace('routes: [', 'routes: [{ path: /own/, files: ./site }, '));
  expect((await get(site.node.address.port, '/own/own.txt')).body.toString()).toBe('own');
  await expect
    .poll(() => (site.status() as { backends?: { backbone: { reason?: string } }[] }).backends?.[0]?.backbone.reason)
    .toBe('the registry does not have its address yet');
});

/** A fleet whose operator publishes configurations */
async function operated() {
  const here = await machine();
  const operator = await here.key('operator');
  const registry = join(await temporaryDirectory(), 'registry');
  const document = (routes: string): string =>
    `listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nroutes: [${routes}]\nregistry: { file: "${registry}", operator: "${operator}" }\n`;
  const publish = async (text: string, by: Machine = here, now = 1_000): Promise<number> =>
    publishDocument({
      registry: parseConfiguration(document('{ files: ./site }'), 'sheaf.yaml').registry!,
      operator: await readNodeKey(nodeKeyFile(by.directory, 'operator')),
      text,
      now,
    });
  await writeFile(join(here.directory, 'site', 'a'), 'a');
  return { here, registry, document, publish };
}

const answered = (path: string) => `{ path: "${path}/", files: ./site }`;

it('nodes follow what their operator publishes, and nothing older', async () => {
  const { here, registry, document, publish } = await operated();
  const site = await here.start(document(answered('/local')));
  const statusOf = async (path: string): Promise<number> => (await get(site.node.address.port, `${path}/a`)).status;
  expect([await statusOf('/local'), await statusOf('/first')]).toEqual([200, 404]);
  expect(await publish(document(answered('/first')))).toBe(1);
  const driver = new FileDriver(registry);
  const old = (await driver.get('config'))!;
  await expect.poll(() => statusOf('/first')).toBe(200);
  expect(site.running.status().source).toBe('registry revision 1');
  expect(site.status().registry).toMatchObject({ followed: 1 });
  expect(await publish(document(answered('/second')))).toBe(2);
  await expect.poll(() => statusOf('/second')).toBe(200);
  const { version } = site.running.status();
  await expect.poll(() => site.status().registry?.nodes[0]?.configuration).toBe(version);
  // Somebody with access to the registry brings back what the operator has replaced.
  await driver.heartbeat('config', old.value!);
  await expect.poll(() => site.status().registry?.refused['replayed']).toBe(1);
  expect([await statusOf('/second'), site.running.status().version]).toEqual([200, version]);
});

/** Entries in the copy of a machine's only process */
async function copiedIn({ directory }: Machine): Promise<Record<string, string>> {
  const state = join(directory, '.sheaf');
  const [file] = (await readdir(state)).filter((name) => /^registry-.*\.json$/.test(name));
  return file === undefined ? {} : (JSON.parse(await readFile(join(state, file), 'utf8')) as Record<string, string>);
}

function revisionIn({ config = '' }: Record<string, string>): string | undefined {
  return /"revision":(\d+)/.exec(Buffer.from(config, 'base64').toString('latin1'))?.[1];
}

it('a document is in the copy on disk as soon as it is followed', async () => {
  const { here, document, publish } = await operated();
  const site = await here.start(document(answered('/local')));
  for (const revision of ['1', '2']) {
    await publish(document(answered(`/revision-${revision}`)));
    await expect.poll(() => site.running.status().source).toBe(`registry revision ${revision}`);
    // The next copy for other reasons comes after a minute.
    await expect.poll(async () => revisionIn(await copiedIn(here))).toBe(revision);
  }
});

it('nodes follow a document though the registry has lost what they know', async () => {
  const { here, registry, document, publish } = await operated();
  const site = await here.start(document(answered('/local')));
  await publish(document(answered('/first')));
  await publish(document(answered('/second')));
  await expect.poll(() => site.running.status().source).toBe('registry revision 2');
  await rm(registry, { recursive: true });
  expect(await publish(document(answered('/first')), here, 7_000)).toBe(7);
  await expect.poll(() => site.running.status().source, patience).toBe('registry revision 7');
});

it('a published configuration that fails changes nothing, and is told', async () => {
  const { here, document, publish } = await operated();
  const site = await here.start(document(answered('/local')));
  const { version } = site.running.status();
  await publish(document('{ files: ./absent }'));
  await expect.poll(() => site.running.status().refused?.code).toBe('CONFIG_PATH');
  expect(site.running.status().refused?.text).toContain('registry revision 1:3');
  await publish(document(answered('/new')).replace(/^registry.*$/m, ''));
  await expect.poll(() => site.running.status().refused?.code).toBe('RELOAD_NEEDS_RESTART');
  expect(site.running.status().version).toBe(version);
  expect((await get(site.node.address.port, '/local/a')).status).toBe(200);
});

it('a node starts with the last published configuration, though the registry is away', async () => {
  const { here, registry, document, publish } = await operated();
  await publish(document(answered('/published')));
  const local = document(answered('/local'));
  const first = await here.start(local);
  expect((await get(first.node.address.port, '/published/a')).status).toBe(200);
  await first.running.close(0);
  await rename(registry, `${registry}-away`);
  await writeFile(registry, '');
  const again = await here.start(local);
  expect((await get(again.node.address.port, '/published/a')).status).toBe(200);
  expect(again.status().registry).toMatchObject({ connected: false, followed: 1 });
  expect(again.running.status().source).toBe('registry revision 1');
});

it('a start takes nothing that a running node refuses', async () => {
  const { here, document, publish } = await operated();
  const local = document(answered('/local'));
  await publish(document(answered('/published')).replace('admin:', 'workers: 2\nadmin:'));
  const site = await here.start(local);
  expect((await get(site.node.address.port, '/local/a')).status).toBe(200);
  expect(site.running.status()).toMatchObject({
    source: join(here.directory, 'sheaf.yaml'),
    refused: { code: 'RELOAD_NEEDS_RESTART' },
  });
  expect(site.log.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('the file is used'));
});

it('a node whose published configuration cannot start runs by its file', async () => {
  const { here, document, publish } = await operated();
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  await publish(document(answered('/published')).replace('127.0.0.1:0', `127.0.0.1:${port}`));
  const site = await here.start(document(answered('/local')));
  expect((await get(site.node.address.port, '/local/a')).status).toBe(200);
  expect(site.running.status().refused?.code).toBe('PORT_TAKEN');
});

it('a document that arrives while nodes start is followed once they run', async () => {
  const { here, document, publish } = await operated();
  const local = document(answered('/local'));
  await publish(document(answered('/first')));
  // The module of a route is loaded while its node starts.
  const module = `import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
if (!existsSync('${here.directory}/done')) { writeFileSync('${here.directory}/starting', ''); while (!existsSync('${here.directory}/done')) await sleep(20); }
export default () => undefined;
`;
  await writeFile(join(here.directory, 'chat.mjs'), module);
  await publish(document(`${answered('/first')}, { path: /chat, webtransport: ./chat.mjs }`));
  const starting = here.start(local);
  await expect.poll(() => existsSync(join(here.directory, 'starting')), patience).toBe(true);
  await publish(document(answered('/second')));
  await expect.poll(async () => revisionIn(await copiedIn(here)), patience).toBe('3');
  await writeFile(join(here.directory, 'done'), '');
  const site = await starting;
  await expect.poll(() => site.running.status().source, patience).toBe('registry revision 3');
});

it('what another operator has signed is not followed, and not replaced', async () => {
  const { here, document, publish } = await operated();
  const stranger = await machine();
  await stranger.key('operator');
  await publish(document(answered('/published')), stranger);
  const site = await here.start(document(answered('/local')));
  expect((await get(site.node.address.port, '/local/a')).status).toBe(200);
  expect(site.status().registry?.refused['forged']).toBe(1);
  await expect(publish(document(answered('/published')))).rejects.toMatchObject({ code: 'REGISTRY_REFUSED' });
  await expect(publish(document('x'.repeat(600_000)))).rejects.toMatchObject({ code: 'REGISTRY_REFUSED' });
});

it('machines that forward datagrams find each other, and pass over one whose address means nothing elsewhere', async () => {
  const registry = join(await temporaryDirectory(), 'registry');
  const stranger = NodeKey.generate();
  const place = { site: 'sheaf', key: 'node.three' };
  const body = JSON.stringify({ ...hostile, forwarding: { address: 'fe80::1%eth9', port: 5 } });
  await new FileDriver(registry).heartbeat(place.key, signEntry(stranger, place, Buffer.from(body)));
  const machines = [await machine(), await machine()];
  const [one, two] = [await machines[0]!.key('one'), await machines[1]!.key('two')];
  const secrets = formatSecrets(renewSecrets([]));
  const started = await Promise.all(
    machines.map(async ({ directory }, index) => {
      const name = index === 0 ? 'one' : 'two';
      const others = `two: "${two}", one: "${one}", three: "${stranger.publicKey.toString()}"`.replace(
        `${name}: "${index === 0 ? one : two}", `,
        '',
      );
      const file = join(directory, 'sheaf.yaml');
      await writeFile(join(directory, 'secrets'), secrets, { mode: 0o600 });
      await writeFile(
        file,
        `nodes: { ${name}: { role: gateway, listen: 127.0.0.1:0, secrets: ./secrets, connection_ids: { server_id: "0${index + 1}" }, forward: { listen: 127.0.0.1:0 }, routes: [{ files: ./site }] } }
registry: { file: "${registry}", nodes: { ${others} } }
`,
      );
      const running = await RunningConfiguration.start({
        file,
        choose: ({ nodes }) => nodes,
        node: { logStream: logTo([]) },
        now: () => new Date(),
      });
      onTestFinished(() => running.close(0));
      return running.nodes[0]!;
    }),
  );
  const known = (): unknown[] => started.map((node) => (node.status() as FrontNodeStatus).forwarding?.machines);
  await expect.poll(known, patience).toEqual([1, 1]);
});

/** What a node says of itself that tries to harm others */
const hostile = {
  role: 'gateway',
  listen: [],
  serverId: '03',
  version: 'x',
  backboneVersion: 1,
  configuration: '',
  draining: false,
  stopped: false,
  incarnation: 5,
  counter: 1,
};

it('metrics tell whether the registry answers, who is there, and what was refused', async () => {
  const { here, registry, document } = await operated();
  const site = await here.start(document(answered('/local')));
  await new FileDriver(registry).heartbeat('node.stranger', Buffer.from('x'));
  await expect.poll(() => site.status().registry?.refused['unknown']).toBe(1);
  const metrics = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${site.node.adminAddress!.port}/metrics`)).text();
  await expect.poll(metrics).toContain('sheaf_fleet_nodes{state="alive"} 1');
  const text = await metrics();
  expect(text).toContain('sheaf_registry_connected 1');
  expect(text).toContain('sheaf_registry_refused_entries_total{reason="unknown"} 1');
  expect(text).toMatch(/sheaf_registry_age_seconds \d/);
});

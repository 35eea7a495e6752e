import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { GatewayStatus, RegistryStatus } from '@sheaf/gateway';
import { registryFacts, renderFleet } from '../src/render_registry.js';
import { freePort, start } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

/** A directory with the configuration of a fleet whose operator's key is there */
async function fleet(
  registry: string,
): Promise<{ directory: string; admin: number; write(route: string): Promise<void> }> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'a.txt'), 'a');
  const { out } = await sheaf(['keys', 'new', 'operator', '--json'], directory);
  const { public_key: operator } = JSON.parse(out) as { public_key: string };
  const [port, admin] = [await freePort(), await freePort()];
  const write = (route: string): Promise<void> =>
    writeFile(
      join(directory, 'sheaf.yaml'),
      `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\nroutes: [{ path: ${route}, files: ./site }]\nregistry: { ${registry}, operator: "${operator}" }\n`,
    );
  return { directory, admin, write };
}

it('an operator publishes a configuration, and the nodes run it', async () => {
  const { directory, admin, write } = await fleet('file: ./registry');
  await write('/one/');
  const node = start(['up', 'sheaf.yaml'], directory);
  await vi.waitFor(() => expect(node.out() + node.err()).toMatch(/ready|error/), 30_000);
  await write('/two/');
  const { code, out } = await sheaf(['registry', 'publish', '--json'], directory);
  expect(code).toBe(0);
  const { revision, version } = JSON.parse(out) as { revision: number; version: string };
  expect(revision).toBeGreaterThan(0);
  const status = async (): Promise<GatewayStatus> =>
    JSON.parse((await sheaf(['status', '--admin', `127.0.0.1:${admin}`, '--json'])).out) as GatewayStatus;
  await vi.waitFor(async () => expect((await status()).configuration?.version).toBe(version), 30_000);
  const { registry } = await status();
  expect([registry?.followed, registry?.nodes.map(({ name }) => name)]).toEqual([revision, ['gateway']]);
  const { out: again } = await sheaf(['registry', 'publish'], directory);
  expect(again).toContain(`published revision ${revision + 1}`);
  expect(again).toContain(version.slice(0, 12));
});

it('an operator gives secrets to each node, readable for it alone', async () => {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  const key = async (name: string): Promise<string> =>
    (JSON.parse((await sheaf(['keys', 'new', name, '--json'], directory)).out) as { public_key: string }).public_key;
  const operator = await key('operator');
  const node = (own: string): string => `{ role: gateway, listen: "127.0.0.1:0", ${own}routes: [{ files: ./site }] }`;
  const yaml = async (file: string, nodes: string): Promise<void> =>
    writeFile(join(directory, file), `registry: { file: ./registry, operator: "${operator}" }\nnodes: { ${nodes} }\n`);
  await sheaf(['secrets', 'original'], directory);
  await yaml('none.yaml', `one: ${node('')}`);
  const none = await sheaf(['registry', 'secrets', 'none.yaml', '--secrets', 'original'], directory);
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('has `secrets`')]);
  const one = `one: ${node(`secrets: ./secrets-of-one, public_key: "${await key('one')}", `)}`;
  await yaml('strange.yaml', `${one}, two: ${node('secrets: ./b, ')}`);
  const strange = await sheaf(['registry', 'secrets', 'strange.yaml', '--secrets', 'original'], directory);
  expect([strange.code, strange.err]).toEqual([3, expect.stringContaining('the public key of `two` is not known')]);
  await yaml('sheaf.yaml', `${one}, two: ${node('')}`);
  const { code, out } = await sheaf(['registry', 'secrets', '--secrets', 'original'], directory);
  expect([code, out]).toEqual([0, `sealed ${join(directory, 'original')} for one\n`]);
  const running = start(['up', 'sheaf.yaml', '--node', 'one'], directory);
  await vi.waitFor(() => expect(running.out() + running.err()).toMatch(/ready|error/), 30_000);
  const received = join(directory, 'secrets-of-one');
  expect(await readFile(received, 'utf8')).toBe(await readFile(join(directory, 'original'), 'utf8'));
  expect((await stat(received)).mode & 0o777).toBe(0o600);
  const [, secret = ''] = /^\d ([0-9a-f]{64})$/m.exec(await readFile(received, 'utf8')) ?? [];
  expect(secret).not.toBe('');
  for (const file of await readdir(join(directory, 'registry'))) {
    const entry = await readFile(join(directory, 'registry', file));
    expect([entry.includes(secret), entry.includes(Buffer.from(secret, 'hex'))]).toEqual([false, false]);
  }
  await sheaf(['secrets', 'original'], directory);
  await sheaf(['registry', 'secrets', '--secrets', 'original'], directory);
  const renewed = await readFile(join(directory, 'original'), 'utf8');
  await vi.waitFor(async () => expect(await readFile(received, 'utf8')).toBe(renewed), 30_000);
});

it('refuses what no node would follow, and says how to put it right', async () => {
  const { directory, write } = await fleet('file: ./registry');
  await write('/one/');
  await sheaf(['keys', 'new', 'other'], directory);
  const other = await sheaf(['registry', 'publish', '--key', '.sheaf/keys/other.key'], directory);
  expect([other.code, other.err]).toEqual([3, expect.stringContaining('bring the key of the `operator`')]);
  await writeFile(join(directory, 'plain.yaml'), 'listen: 127.0.0.1:0\nroutes: [{ files: ./site }]\n');
  const plain = await sheaf(['registry', 'publish', 'plain.yaml'], directory);
  expect([plain.code, plain.err]).toEqual([2, expect.stringContaining('names no operator')]);
  const absent = await sheaf(['registry', 'publish', 'absent.yaml'], directory);
  expect([absent.code, absent.err]).toEqual([2, expect.stringContaining('CONFIG_NOT_FOUND')]);
});

it('says that no server of a registry answers', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as { port: number };
  closed.close();
  const { directory, write } = await fleet(`nats: "nats://127.0.0.1:${port}"`);
  await write('/one/');
  const { code, err } = await sheaf(['registry', 'publish'], directory);
  expect([code, err]).toEqual([4, expect.stringContaining(`the registry at nats://127.0.0.1:${port} (sheaf)`)]);
});

it('shows a registry that is away, and what an operator has to put right', () => {
  const registry: RegistryStatus = {
    place: 'nats://10.0.0.1:4222 (sheaf)',
    site: 'sheaf',
    connected: false,
    ageSeconds: 62.3,
    reason: 'no servers available',
    failedWrites: 7,
    deadWatches: 1,
    refused: { forged: 2, unknown: 0 },
    nodes: [
      {
        name: 'b',
        role: 'backend',
        state: 'suspect',
        draining: true,
        own: false,
        serverId: '0a',
        backbone: '10.0.0.2:4533',
        version: '0.1.0',
        backboneVersion: 1,
        configuration: 'ab'.repeat(32),
      },
    ],
    conflicts: ['the server id 0a of `site` is that of `b`'],
  };
  const text = `${registryFacts(registry).join('\n')}\n${renderFleet(registry)}`;
  expect(text).toContain('away: nats://10.0.0.1:4222 (sheaf); it told something 62.3 s ago (no servers available)');
  expect(text).toContain('7 writes failed, 1 watches were dead');
  expect(text).toContain('2 forged');
  expect(text).toContain('the server id 0a of `site` is that of `b`');
  expect(text).toMatch(/b +backend +suspect, draining +0a +10\.0\.0\.2:4533 +0\.1\.0 +abababababab/);
});

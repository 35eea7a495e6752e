import { execFileSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { maxEntries, maxValueBytes, RevisionConflict, type RegistryDriver } from '../../src/registry/driver.js';
import type { RegistryEntry } from '../../src/registry/driver.js';
import { FileDriver } from '../../src/registry/file_driver.js';
import { NatsDriver } from '../../src/registry/nats_driver.js';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { startNats } from '../support/nats_server.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

/** Makes drivers that see one registry. */
type Registry = () => RegistryDriver;

const registries: Record<string, () => Promise<Registry>> = {
  file: async () => {
    const directory = join(await temporaryDirectory(), 'registry');
    return () => new FileDriver(directory);
  },
  nats: async () => {
    const { url } = await startNats();
    return () => new NatsDriver({ servers: [url], bucket: 'test', replicas: 1 });
  },
};

async function opened(registry: Registry): Promise<RegistryDriver> {
  const driver = registry();
  onTestFinished(() => driver.close());
  driver.open();
  await expect
    .poll(() =>
      driver.list().then(
        () => driver.connected,
        () => false,
      ),
    )
    .toBe(true);
  return driver;
}

const bytes = (text: string): Buffer => Buffer.from(text);
const texts = (entries: readonly RegistryEntry[]): string[] =>
  entries.map(({ key, value }) => `${key}=${value?.toString()}`).sort();

describe.each(Object.entries(registries))('a registry in %s', (_name, make) => {
  it('keeps values with revisions that grow', async () => {
    const registry = await make();
    const [writer, reader] = [await opened(registry), await opened(registry)];
    expect(await reader.get('node.a')).toBeUndefined();
    const first = await writer.compareAndSet('node.a', bytes('1'), 0);
    expect(await reader.get('node.a')).toEqual({ key: 'node.a', revision: first, value: bytes('1') });
    const second = await writer.heartbeat('node.a', bytes('2'));
    const third = await writer.compareAndSet('node.a', bytes('3'), second);
    expect([second > first, third > second]).toEqual([true, true]);
    await writer.heartbeat('node.b', bytes(''));
    const { entries, more } = await reader.list();
    expect([texts(entries), more]).toEqual([['node.a=3', 'node.b='], false]);
  });

  it('refuses a write that has not seen the latest value', async () => {
    const registry = await make();
    const driver = await opened(registry);
    const first = await driver.compareAndSet('config', bytes('a'), 0);
    await expect(driver.compareAndSet('config', bytes('b'), 0)).rejects.toThrow(RevisionConflict);
    for (let count = 0; count < 4; count += 1) await driver.heartbeat('config', bytes('c'));
    await expect(driver.compareAndSet('config', bytes('d'), first)).rejects.toThrow(RevisionConflict);
    expect((await driver.get('config'))?.value).toEqual(bytes('c'));
  });

  it('lets one of many writers win', async () => {
    const registry = await make();
    const drivers = await Promise.all(Array.from({ length: 4 }, () => opened(registry)));
    const outcomes = await Promise.allSettled(
      drivers.map((driver, index) => driver.compareAndSet('sid.01', bytes(String(index)), 0)),
    );
    const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    expect(winners).toHaveLength(1);
    expect((await drivers[0]!.get('sid.01'))?.value).toEqual(bytes(String(winners[0])));
  });

  it('tells watchers of every key what it became', async () => {
    const registry = await make();
    const [writer, reader] = [await opened(registry), await opened(registry)];
    await writer.heartbeat('node.a', bytes('before'));
    const seen = new Map<string, string>();
    const watch = await reader.watch({
      changed: ({ key, value }) => void seen.set(key, value?.toString() ?? ''),
      ended: () => undefined,
    });
    for (let count = 1; count <= 20; count += 1) await writer.heartbeat('node.a', bytes(String(count)));
    await writer.compareAndSet('node.b', bytes('b'), 0);
    await expect.poll(() => Object.fromEntries(seen)).toEqual({ 'node.a': '20', 'node.b': 'b' });
    watch.close();
    await writer.heartbeat('node.a', bytes('after'));
    await reader.list();
    expect(seen.get('node.a')).toBe('20');
  });

  it('holds no value that is longer than its reader takes, or that nobody reads', async () => {
    const registry = await make();
    const [writer, reader] = [await opened(registry), await opened(registry)];
    const maxBytes = (key: string): number => (key.startsWith('node.') ? 4 : 0);
    const seen: RegistryEntry[] = [];
    const watch = await reader.watch({ maxBytes, changed: (entry) => seen.push(entry), ended: () => undefined });
    for (const [key, text] of [
      ['node.a', '4444'],
      ['node.b', '55555'],
      ['other', 'x'],
    ] as const)
      await writer.heartbeat(key, bytes(text));
    const wanted = ['node.a=4444', 'node.b=undefined', 'other=undefined'];
    expect(texts((await reader.list(maxBytes)).entries)).toEqual(wanted);
    await expect.poll(() => texts(seen)).toEqual(wanted);
    watch.close();
  });

  it('takes values up to its bound', async () => {
    const registry = await make();
    const driver = await opened(registry);
    const largest = Buffer.alloc(maxValueBytes, 7);
    await driver.compareAndSet('config', largest, 0);
    expect((await driver.get('config'))?.value?.equals(largest)).toBe(true);
  });
});

it('a directory is read up to a number of keys, and without values that are too large', async () => {
  const directory = await temporaryDirectory();
  await Promise.all(
    Array.from({ length: maxEntries + 1 }, (_, count) => writeFile(join(directory, `k${count}@1`), '')),
  );
  const driver = new FileDriver(directory);
  const { entries, more } = await driver.list();
  expect([entries.length, more]).toEqual([maxEntries, true]);
  await writeFile(join(directory, 'large@1'), Buffer.alloc(maxValueBytes + 1));
  expect(await driver.get('large')).toEqual({ key: 'large', revision: 1, value: undefined });
});

it('a directory with pipes, and with links that lead out of it, is read all the same', async () => {
  const directory = await temporaryDirectory();
  execFileSync('mkfifo', [join(directory, 'pipe@1')]);
  await symlink('/dev/zero', join(directory, 'zero@1'));
  await writeFile(join(directory, 'node.a@1'), 'a');
  const { entries } = await new FileDriver(directory).list();
  expect(texts(entries)).toEqual(['node.a=a', 'pipe=undefined', 'zero=undefined']);
});

it.each(['../escape@1', 'no revision', 'a@0', 'a@x', '.draft-1', 'a..b@1'])(
  'a directory ignores the file %s',
  async (name) => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, name.replace('/', '_')), 'x');
    expect((await new FileDriver(directory).list()).entries).toEqual([]);
  },
);

it('a bucket that is lost with all that it had is made again', async () => {
  const server = await startNats();
  const driver = await opened(() => new NatsDriver({ servers: [server.url], bucket: 'fleet', replicas: 1 }));
  await driver.heartbeat('node.a', bytes('a'));
  let again = 0;
  driver.reconnected = () => void (again += 1);
  const { connect } = await import('@nats-io/transport-node');
  const connection = await connect({ servers: server.url });
  onTestFinished(() => connection.close());
  const { jetstreamManager } = await import('@nats-io/jetstream');
  await (await jetstreamManager(connection)).streams.delete('KV_fleet');
  await expect(driver.list()).rejects.toThrow();
  await expect.poll(() => again).toBe(1);
  expect((await driver.list()).entries).toEqual([]);
  expect(await driver.heartbeat('node.a', bytes('a'))).toBe(1);
});

it('a server that asks for a password and for TLS gets both, and others get nothing', async () => {
  const directory = await temporaryDirectory();
  const { certificate, privateKey } = await createDevCertificate(['localhost', '127.0.0.1'], new Date());
  const [cert, key, credentials] = ['cert.pem', 'key.pem', 'credentials'].map((name) => join(directory, name));
  await Promise.all([
    writeFile(cert!, certificate),
    writeFile(key!, privateKey),
    writeFile(credentials!, 'node:pass:word\n'),
  ]);
  const secured = ['--tls', '--tlscert', cert!, '--tlskey', key!, '--user', 'node', '--pass', 'pass:word'];
  const { url } = await startNats(secured);
  const options = { servers: [url], bucket: 'test', replicas: 1 };
  const trusted = await opened(() => new NatsDriver({ ...options, credentials, tls: { ca: cert } }));
  await trusted.compareAndSet('node.a', bytes('a'), 0);
  for (const less of [{ tls: { ca: cert } }, { credentials }, {}]) {
    const stranger = new NatsDriver({ ...options, ...less });
    onTestFinished(() => stranger.close());
    const opening = new Promise<void>((resolve) => (stranger.reconnected = resolve));
    stranger.open();
    await Promise.race([opening, new Promise((resolve) => setTimeout(resolve, 500))]);
    expect(stranger.connected).toBe(false);
    await expect(stranger.get('node.a')).rejects.toThrow('no connection');
  }
});

it('a server that knows nodes by keys gets a signature', async () => {
  const { createUser } = await import('@nats-io/transport-node').then(({ nkeys }) => nkeys);
  const user = createUser();
  const directory = await temporaryDirectory();
  const [configuration, seed] = [join(directory, 'nats.conf'), join(directory, 'node.nk')];
  await writeFile(configuration, `authorization { users = [{ nkey: ${user.getPublicKey()} }] }\n`);
  await writeFile(seed, user.getSeed());
  const { url } = await startNats(['-c', configuration]);
  const driver = await opened(() => new NatsDriver({ servers: [url], bucket: 'test', replicas: 1, credentials: seed }));
  await driver.compareAndSet('node.a', bytes('a'), 0);
  expect((await driver.get('node.a'))?.value).toEqual(bytes('a'));
});

it('a server that comes later is found, and one that returns keeps what it had', async () => {
  const server = await startNats();
  const driver = new NatsDriver({ servers: [server.url], bucket: 'test', replicas: 1 });
  onTestFinished(() => driver.close());
  await server.kill();
  driver.open();
  await expect(driver.get('node.a')).rejects.toThrow('no connection');
  await server.start();
  await expect.poll(() => driver.connected).toBe(true);
  await driver.heartbeat('node.a', bytes('kept'));
  let reconnections = 0;
  driver.reconnected = () => (reconnections += 1);
  await server.kill();
  await expect.poll(() => driver.connected).toBe(false);
  await server.start();
  await expect.poll(() => reconnections).toBeGreaterThan(0);
  expect((await driver.get('node.a'))?.value).toEqual(bytes('kept'));
});

import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { maxEntries, maxValueBytes, type RegistryDriver, type WatchHandlers } from '../../src/registry/driver.js';
import { EntryRefused, signEntry } from '../../src/registry/entry.js';
import { Feed } from '../../src/registry/feed.js';
import { FileDriver } from '../../src/registry/file_driver.js';
import { encodeNodeEntry, maxNodeEntryBytes, type Beat } from '../../src/registry/node_entry.js';
import { Refusals } from '../../src/registry/refusals.js';
import { ServerIds } from '../../src/registry/server_ids.js';
import { Trust } from '../../src/registry/trust.js';
import type { FleetNodeDescription } from '../../src/registry/fleet_view.js';
import { NodeKey, NodePublicKey } from '../../src/values/node_key.js';
import { describedAs, joinFleet, keysOf, knownFrom, quickTimes, seenBy, type Member } from '../support/fleet.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

/** A registry that an attacker can write, and a reader of it */
async function attacked(names: readonly string[] = ['a']) {
  const directory = join(await temporaryDirectory(), 'registry');
  const driver = (): FileDriver => new FileDriver(directory);
  const keys = keysOf(...names);
  const reader = await joinFleet({ driver: driver(), keys });
  const attacker = driver();
  return { driver, keys, reader, write: (key: string, value: Uint8Array) => attacker.heartbeat(key, value) };
}

interface Said {
  key: NodeKey;
  place?: { site: string; key: string };
  beat?: Partial<Beat>;
  description?: Partial<FleetNodeDescription>;
}

function said({ key, place, beat, description }: Said): Buffer {
  const body = encodeNodeEntry(describedAs(description), { stopped: false, incarnation: 5, counter: 5, ...beat });
  return signEntry(key, place ?? { site: 'test', key: 'node.a' }, body);
}

const refused = ({ fleet }: Member): Record<string, number> =>
  Object.fromEntries(Object.entries(fleet.status().refused).filter(([, count]) => count > 0));

it.each([
  ['signed by somebody else', () => said({ key: NodeKey.generate() }), 'forged'],
  ['of another node', (a: NodeKey) => said({ key: a, place: { site: 'test', key: 'node.b' } }), 'forged'],
  ['of another fleet', (a: NodeKey) => said({ key: a, place: { site: 'other', key: 'node.a' } }), 'forged'],
  ['changed on its way', (a: NodeKey) => changed(said({ key: a })), 'forged'],
  ['without a signature', () => Buffer.from('{"role":"gateway"}'), 'malformed'],
  ['empty', () => Buffer.alloc(0), 'malformed'],
  ['signed, but no JSON', (a: NodeKey) => signed(a, '{'), 'malformed'],
  ['signed, but of another kind', (a: NodeKey) => signed(a, '{"role":"king"}'), 'malformed'],
  [
    'signed, with an address that is none',
    (a: NodeKey) => said({ key: a, description: { listen: [{ address: 'evil.example', port: 443 }] } }),
    'malformed',
  ],
  [
    'signed, with a version that a terminal would obey',
    (a: NodeKey) => said({ key: a, description: { version: '\u001b[2J' } }),
    'malformed',
  ],
  [
    'signed, with the zone of a machine',
    (a: NodeKey) => said({ key: a, description: { forwarding: { address: 'fe80::1%eth9', port: 443 } } }),
    'malformed',
  ],
  ['too large for a node', (a: NodeKey) => signed(a, ' '.repeat(maxNodeEntryBytes)), 'oversized'],
  ['too large for anybody', () => Buffer.alloc(maxValueBytes + 1), 'oversized'],
])('an entry %s is refused once, and counted', async (_what, make, reason) => {
  const { keys, reader, write } = await attacked();
  await write('node.a', make(keys.get('a')!));
  await expect.poll(() => refused(reader)).toEqual({ [reason]: 1 });
  // It stays there, and is read again.
  await new Promise((resolve) => setTimeout(resolve, 3 * quickTimes.beat));
  expect(refused(reader)).toEqual({ [reason]: 1 });
  expect(seenBy(reader)).toEqual({});
  expect(reader.warnings).toHaveLength(1);
});

function signed(key: NodeKey, text: string): Buffer {
  return signEntry(key, { site: 'test', key: 'node.a' }, Buffer.from(text));
}

function changed(value: Buffer): Buffer {
  value[value.length - 3]! ^= 1;
  return value;
}

it('an older heartbeat of a node does not bring back what was', async () => {
  const { keys, reader, write } = await attacked();
  const key = keys.get('a')!;
  const old = said({ key, beat: { counter: 1 }, description: { version: 'old' } });
  await write('node.a', old);
  await expect.poll(() => reader.fleet.view.node('a')?.version).toBe('old');
  await write('node.a', said({ key, beat: { counter: 2 }, description: { version: 'new' } }));
  await expect.poll(() => reader.fleet.view.node('a')?.version).toBe('new');
  await write('node.a', old);
  await write('node.a', said({ key, beat: { incarnation: 4, counter: 99 }, description: { version: 'older' } }));
  await expect.poll(() => refused(reader)['replayed']).toBeGreaterThan(0);
  expect(reader.fleet.view.node('a')?.version).toBe('new');
  // What is said again does not keep a node alive either.
  await expect.poll(() => seenBy(reader)).toEqual({ a: 'suspect' });
});

it('nodes that the configuration does not name do not exist, however many', async () => {
  const { reader, write } = await attacked();
  const strangers = keysOf(...Array.from({ length: 300 }, (_, index) => `stranger${index}`));
  for (const [name, key] of strangers)
    await write(`node.${name}`, said({ key, place: { site: 'test', key: `node.${name}` } }));
  await expect.poll(() => refused(reader)).toEqual({ unknown: 300 });
  expect(seenBy(reader)).toEqual({});
  // The log tells of few.
  expect(reader.warnings).toHaveLength(3);
});

it('a node that the configuration drops is gone, and one that it adds is read', async () => {
  const { driver, keys, reader } = await attacked(['a', 'b']);
  await joinFleet({ driver: driver(), keys, name: 'a' });
  await joinFleet({ driver: driver(), keys, name: 'b' });
  await expect.poll(() => seenBy(reader)).toEqual({ a: 'alive', b: 'alive' });
  await reader.fleet.use(knownFrom(new Map([['b', keys.get('b')!]])));
  expect(seenBy(reader)).toEqual({ b: 'alive' });
  await reader.fleet.use(knownFrom(keys));
  await expect.poll(() => seenBy(reader)).toEqual({ a: 'alive', b: 'alive' });
});

it('a flood of changes is not read, and others are', async () => {
  const { driver, keys, write } = await attacked(['a', 'b', 'c']);
  const member = await joinFleet({ driver: driver(), keys, name: 'c' });
  const key = keys.get('a')!;
  let counter = 0;
  const flood = async (): Promise<number> => {
    for (let count = 0; count < 50; count += 1) await write('node.a', said({ key, beat: { counter: (counter += 1) } }));
    return member.fleet.status().refused['flood'] ?? 0;
  };
  await expect.poll(flood).toBeGreaterThan(0);
  await joinFleet({ driver: driver(), keys, name: 'b' });
  await expect.poll(() => seenBy(member)).toMatchObject({ b: 'alive', c: 'alive' });
});

it('a claim of a server id by a stranger, or in the name of another, is none', async () => {
  const { driver, keys, write } = await attacked(['a', 'b']);
  const place = { site: 'test', key: 'sid.0a' };
  const body = Buffer.from(JSON.stringify({ name: 'b', at: Date.now() }));
  await write('sid.0a', signEntry(NodeKey.generate(), place, body));
  const member = await joinFleet({ driver: driver(), keys, name: 'a', description: { serverId: Buffer.of(10) } });
  await expect.poll(() => refused(member)).toEqual({ forged: 1 });
  await expect.poll(async () => (await driver().get('sid.0a'))?.revision).toBe(2);
  expect(member.fleet.status().conflicts).toEqual([]);
});

/** Claims of two nodes, read by a third one at this time in milliseconds */
async function claims(now = (): number => 10_000_000) {
  const keys = keysOf('a', 'b');
  const trust = new Trust();
  await trust.use(knownFrom(keys));
  const driver = new FileDriver(join(await temporaryDirectory(), 'registry'));
  const ids = new ServerIds({ driver, site: 'test', trust, now });
  const claim = (name: string, at: number, key = keys.get(name) ?? NodeKey.generate()): Buffer =>
    signEntry(key, { site: 'test', key: 'sid.0a' }, Buffer.from(JSON.stringify({ name, at })));
  const accept = (value: Buffer, revision: number): boolean => ids.accept({ key: 'sid.0a', value, revision });
  return { ids, driver, keys, claim, accept, holder: () => ids.holderOf(Buffer.of(10)) };
}

it('an older claim of a server id does not come back, and none of a time far ahead comes', async () => {
  const { claim, accept, holder } = await claims();
  const old = claim('a', 1_000);
  expect([accept(old, 1), accept(claim('a', 2_000), 2), holder()]).toEqual([true, true, 'a']);
  expect(() => accept(old, 3)).toThrow(expect.objectContaining({ reason: 'replayed' }) as Error);
  expect(() => accept(claim('b', 20_000_000), 4)).toThrow(expect.objectContaining({ reason: 'malformed' }) as Error);
  expect(holder()).toBe('a');
  // The registry was lost, and counts anew.
  expect([accept(claim('a', 3_000), 1), holder()]).toEqual([true, 'a']);
});

it('a node takes no server id of another one, until that has not claimed it for a day', async () => {
  let now = 10_000_000;
  const { claim, accept, holder } = await claims(() => now);
  accept(claim('a', now), 1);
  for (const ahead of [0, 1, 3_599_999])
    expect(() => accept(claim('b', now + ahead), 2 + ahead)).toThrow(
      expect.objectContaining({ reason: ahead === 0 ? 'replayed' : 'taken' }) as Error,
    );
  expect(holder()).toBe('a');
  now += 24 * 3_600_000;
  expect([accept(claim('b', now), 5), holder()]).toEqual([true, 'b']);
});

it('a node writes its claim again when another one has written over it', async () => {
  const { ids, driver, keys, claim, accept } = await claims();
  const node = { name: 'a', key: keys.get('a')!, serverId: Buffer.of(10) };
  await ids.claim(node);
  const own = (await driver.get('sid.0a'))!;
  accept(own.value!, own.revision);
  const stolen = claim('b', 10_000_001);
  expect(() => accept(stolen, 2)).toThrow(expect.objectContaining({ reason: 'taken' }) as Error);
  await driver.heartbeat('sid.0a', stolen);
  await ids.claim(node);
  const again = (await driver.get('sid.0a'))!;
  expect([again.revision, again.value?.equals(own.value!)]).toEqual([3, true]);
  expect([...ids.conflicts]).toEqual([]);
});

it('a claim of nobody costs no signature', async () => {
  const { claim, accept } = await claims();
  const verifies = vi.spyOn(NodePublicKey.prototype, 'verifies');
  onTestFinished(() => verifies.mockRestore());
  expect(() => accept(claim('stranger', 1_000), 1)).toThrow(expect.objectContaining({ reason: 'unknown' }) as Error);
  expect(verifies).not.toHaveBeenCalled();
});

it('keys that anybody can think of switch off no bound of others', async () => {
  let handlers: WatchHandlers | undefined;
  const driver = {
    list: () => Promise.resolve({ entries: [], more: false }),
    watch: (given: WatchHandlers) => Promise.resolve(((handlers = given), { close: () => undefined })),
  } as Partial<RegistryDriver> as RegistryDriver;
  let at = 0;
  let read = 0;
  const open = { maxBytes: 9, isOpen: true, accept: () => refuse() };
  const named = { maxBytes: 9, accept: () => (read += 1) > 0 };
  const refusals = new Refusals(() => undefined);
  const common = { driver, refusals, keep: () => undefined, writes: () => true, now: () => at, times: quickTimes };
  const feed = new Feed({ ...common, readerOf: (key) => (key === 'node.a' ? named : open) });
  await feed.tick();
  const change = (key: string, revision = 1): void => handlers!.changed({ key, revision, value: Buffer.from('x') });
  for (let count = 0; count <= maxEntries; count += 1) change(`sid.${count}`);
  at = 5_000;
  for (let revision = 1; revision <= 50; revision += 1) change('node.a', revision);
  expect([read, refusals.counts.flood > 0]).toEqual([10, true]);
  // The watch told it, so it is not missed.
  feed.expect('node.a', 50);
  at = 6_000;
  await feed.tick();
  expect(feed.deadWatches).toBe(0);
});

function refuse(): never {
  throw new EntryRefused('malformed', 'garbage');
}

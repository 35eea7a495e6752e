import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { systemErrorCode } from '../../src/errors/user_error.js';
import { Copy } from '../../src/registry/copy.js';
import { FileDriver } from '../../src/registry/file_driver.js';
import { encodeNodeEntry } from '../../src/registry/node_entry.js';
import { signEntry } from '../../src/registry/entry.js';
import { NodeKey } from '../../src/values/node_key.js';
import { describedAs, joinFleet, keysOf, quickTimes, seenBy } from '../support/fleet.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

async function registry(): Promise<{ directory: string; driver: () => FileDriver }> {
  const directory = join(await temporaryDirectory(), 'registry');
  return { directory, driver: () => new FileDriver(directory) };
}

it('nodes find each other, and see who drains, who stops and who falls silent', async () => {
  const { driver } = await registry();
  const keys = keysOf('a', 'b', 'c');
  const reader = await joinFleet({ driver: driver(), keys });
  const members = await Promise.all(['a', 'b', 'c'].map((name) => joinFleet({ driver: driver(), keys, name })));
  await expect.poll(() => seenBy(reader)).toEqual({ a: 'alive', b: 'alive', c: 'alive' });
  members[0]!.say({ draining: true, backbone: { address: '192.0.2.7', port: 4533 } });
  await expect.poll(() => seenBy(reader)).toEqual({ a: 'draining', b: 'alive', c: 'alive' });
  expect(reader.fleet.view.node('a')?.backbone).toEqual({ address: '192.0.2.7', port: 4533 });
  await members[1]!.fleet.close();
  await expect.poll(() => seenBy(reader)).toEqual({ a: 'draining', c: 'alive' });
  members[2]!.vanish();
  await expect.poll(() => seenBy(reader)['c']).toBe('suspect');
  await expect.poll(() => seenBy(reader)).toEqual({ a: 'draining' });
});

it('listeners hear of changes, and not of every heartbeat', async () => {
  const { driver } = await registry();
  const keys = keysOf('a');
  const reader = await joinFleet({ driver: driver(), keys });
  const changed = vi.fn();
  reader.fleet.view.onChange(changed);
  const member = await joinFleet({ driver: driver(), keys, name: 'a' });
  await expect.poll(() => changed.mock.calls.length).toBe(1);
  const accepted = (): string => reader.fleet.status().ageSeconds!.toFixed(9);
  const before = accepted();
  await expect.poll(accepted).not.toBe(before);
  member.say({ configuration: 'cd'.repeat(32) });
  await expect.poll(() => reader.fleet.view.node('a')?.configuration).toBe('cd'.repeat(32));
  expect(changed).toHaveBeenCalledTimes(2);
});

it('a listener that fails stops neither the fleet nor other listeners', async () => {
  const { driver } = await registry();
  const keys = keysOf('a');
  const reader = await joinFleet({ driver: driver(), keys });
  const changed = vi.fn();
  reader.fleet.view.onChange(() => {
    throw new Error('a listener failed');
  });
  reader.fleet.view.onChange(changed);
  await joinFleet({ driver: driver(), keys, name: 'a' });
  await expect.poll(() => changed.mock.calls.length).toBe(1);
  expect(reader.warnings).toEqual(['a change of the fleet has no effect here: a listener failed']);
});

it('a watch that goes silent without an error is opened anew, and nobody becomes suspect by it', async () => {
  const { driver } = await registry();
  const keys = keysOf('a', 'b');
  const other = await joinFleet({ driver: driver(), keys, name: 'a' });
  // Nothing but the missing heartbeat can show it: comparisons are too seldom.
  const times = { ...quickTimes, audit: 3_600_000 };
  const member = await joinFleet({ driver: driver(), keys, name: 'b', more: { times } });
  await expect.poll(() => seenBy(member)).toEqual({ a: 'alive', b: 'alive' });
  const states = new Set<string>();
  member.fleet.view.onChange(() => Object.values(seenBy(member)).forEach((state) => states.add(state)));
  for (let round = 1; round <= 3; round += 1) {
    member.deafen();
    other.say({ version: `round-${round}` });
    await expect.poll(() => member.fleet.view.node('a')?.version).toBe(`round-${round}`);
    expect(member.fleet.status().deadWatches).toBeGreaterThanOrEqual(round);
  }
  expect([...states]).toEqual(['alive']);
});

it('a process that writes nothing sees what its silent watch does not tell', async () => {
  const { driver } = await registry();
  const keys = keysOf('a');
  const other = await joinFleet({ driver: driver(), keys, name: 'a' });
  const reader = await joinFleet({ driver: driver(), keys });
  reader.deafen();
  other.say({ version: 'later' });
  await expect.poll(() => reader.fleet.view.node('a')?.version).toBe('later');
});

it('nodes with another version of the backbone are told', async () => {
  const { driver } = await registry();
  const keys = keysOf('a', 'b');
  await joinFleet({ driver: driver(), keys, name: 'a', description: { version: '0.2.0', backboneVersion: 2 } });
  const member = await joinFleet({ driver: driver(), keys, name: 'b' });
  await expect
    .poll(() => member.fleet.status().conflicts)
    .toEqual([expect.stringContaining('`a` (0.2.0) speaks version 2 of the backbone, and `b` version 1')]);
});

/** Puts a file in the place of a directory. A heartbeat may make the directory again at any moment. */
async function replaceByFile(directory: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    await rename(directory, `${directory}-away-${attempt}`);
    try {
      await writeFile(directory, 'not a directory', { flag: 'wx' });
      return;
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST' && systemErrorCode(error) !== 'EISDIR') throw error;
    }
  }
}

it('a registry that is away makes nobody suspect, and a process starts from its copy', async () => {
  const { directory, driver } = await registry();
  const keys = keysOf('a', 'b');
  const copy = join(await temporaryDirectory(), 'state', 'copy.json');
  await joinFleet({ driver: driver(), keys, name: 'a', description: { serverId: Buffer.from('01', 'hex') } });
  const member = await joinFleet({ driver: driver(), keys, name: 'b', more: { copy: new Copy(copy) } });
  await expect.poll(() => seenBy(member)).toEqual({ a: 'alive', b: 'alive' });
  await replaceByFile(directory);
  await expect.poll(() => member.fleet.status().failedWrites).toBeGreaterThan(2);
  await new Promise((resolve) => setTimeout(resolve, quickTimes.suspect * 2));
  expect(seenBy(member)).toEqual({ a: 'alive', b: 'alive' });
  expect(member.fleet.status()).toMatchObject({ connected: false, reason: expect.any(String) as string });
  await member.fleet.close();
  expect((await stat(copy)).mode & 0o777).toBe(0o600);
  const again = await joinFleet({ driver: driver(), keys, name: 'b', more: { copy: new Copy(copy) } });
  expect(seenBy(again)).toMatchObject({ a: 'alive' });
  expect(again.fleet.view.byServerId(Buffer.of(1))?.name).toBe('a');
  expect(again.fleet.status().ageSeconds).toBeUndefined();
});

it('processes of one directory keep their copies beside each other, and read those of all', async () => {
  const { driver } = await registry();
  const keys = keysOf('a', 'b', 'c');
  const state = await temporaryDirectory();
  const start = async (name: string) =>
    joinFleet({ driver: driver(), keys, name, more: { copy: Copy.of(state, 'test', [name]) } });
  const [first, second] = [await start('a'), await start('b')];
  await expect.poll(() => seenBy(second)).toEqual({ a: 'alive', b: 'alive' });
  const copies = async (): Promise<string[]> => {
    const files = (await readdir(state)).filter((file) => file.endsWith('.json'));
    return Promise.all(files.map((file) => readFile(join(state, file), 'utf8')));
  };
  await expect.poll(async () => (await copies()).length).toBe(2);
  await expect.poll(async () => (await copies()).join()).toContain('"node.b"');
  first.vanish();
  second.vanish();
  // Other nodes run here now, and the registry has lost everything.
  const third = await joinFleet({
    driver: (await registry()).driver(),
    keys,
    name: 'c',
    more: { copy: Copy.of(state, 'test', ['c']) },
  });
  expect(third.fleet.status().nodes.map(({ name }) => name)).toEqual(['a', 'b']);
});

it('a copy that somebody changed is believed as little as a registry', async () => {
  const { driver } = await registry();
  const keys = keysOf('a');
  const directory = await temporaryDirectory();
  const copy = join(directory, 'copy.json');
  const forged = signEntry(
    NodeKey.generate(),
    { site: 'test', key: 'node.a' },
    encodeNodeEntry(describedAs(), { stopped: false, incarnation: 1, counter: 1 }),
  );
  await writeFile(copy, JSON.stringify({ 'node.a': forged.toString('base64'), other: 7, 'node.b': 'AA==' }));
  const reader = await joinFleet({ driver: driver(), keys, more: { copy: new Copy(copy) } });
  expect(seenBy(reader)).toEqual({});
  expect(reader.fleet.status().refused).toMatchObject({ forged: 1, unknown: 1 });
  await writeFile(copy, '{');
  await joinFleet({ driver: driver(), keys, more: { copy: new Copy(copy) } });
});

it('the second node with a server id is told, and the view keeps to the first', async () => {
  const { driver } = await registry();
  const keys = keysOf('a', 'b');
  const serverId = Buffer.from('0a', 'hex');
  const first = await joinFleet({ driver: driver(), keys, name: 'b', description: { serverId } });
  await expect.poll(() => first.fleet.view.byServerId(serverId)?.name).toBe('b');
  await expect.poll(() => seenBy(first)).toEqual({ b: 'alive' });
  const second = await joinFleet({
    driver: driver(),
    keys,
    name: 'a',
    description: { serverId },
    more: { times: { ...quickTimes, copy: 50 } },
  });
  await expect.poll(() => second.warnings.join()).toContain('the server id 0a of `a` is that of `b`');
  expect(second.fleet.status().conflicts).toEqual([expect.stringContaining('another `server_id`')]);
  expect(first.fleet.status().conflicts).toEqual([]);
  await expect.poll(() => seenBy(first)).toEqual({ a: 'alive', b: 'alive' });
  expect(first.fleet.view.byServerId(serverId)?.name).toBe('b');
});

it('the claim of a node that the configuration no longer has is free, and so is an old one', async () => {
  const { driver } = await registry();
  const keys = keysOf('a', 'b', 'c');
  const serverId = Buffer.from('0a', 'hex');
  const old = await joinFleet({
    driver: driver(),
    keys,
    name: 'a',
    description: { serverId },
    more: { timeOfDay: () => Date.now() - 25 * 3_600_000 },
  });
  await expect.poll(async () => (await driver().get('sid.0a'))?.revision).toBe(1);
  await old.fleet.close();
  const { fleet } = await joinFleet({ driver: driver(), keys, name: 'b', description: { serverId } });
  await expect.poll(async () => (await driver().get('sid.0a'))?.revision).toBe(2);
  await fleet.close();
  const without = new Map([...keys].filter(([name]) => name !== 'b'));
  const third = await joinFleet({ driver: driver(), keys: without, name: 'c', description: { serverId } });
  await expect.poll(async () => (await driver().get('sid.0a'))?.revision).toBe(3);
  expect(third.fleet.status().conflicts).toEqual([]);
});

it('of two processes that run as one node, the older one falls silent until the other has ended', async () => {
  const { driver } = await registry();
  const keys = keysOf('a');
  const older = await joinFleet({ driver: driver(), keys, name: 'a', description: { version: 'old' } });
  const reader = await joinFleet({ driver: driver(), keys });
  await expect.poll(() => reader.fleet.view.node('a')?.version).toBe('old');
  // The clock of the machine went back meanwhile.
  const newer = await joinFleet({
    driver: driver(),
    keys,
    name: 'a',
    description: { version: 'new' },
    more: { timeOfDay: () => 1_000 },
  });
  await expect.poll(() => reader.fleet.view.node('a')?.version).toBe('new');
  await expect.poll(() => older.fleet.status().conflicts.join()).toContain('another process runs as `a`');
  expect(newer.fleet.status().conflicts).toEqual([]);
  newer.vanish();
  await expect.poll(() => reader.fleet.view.node('a')?.version).toBe('old');
  await expect.poll(() => older.fleet.status().conflicts).toEqual([]);
});

it('the directory stays small', async () => {
  const { directory, driver } = await registry();
  const keys = keysOf('a');
  const member = await joinFleet({ driver: driver(), keys, name: 'a' });
  await expect.poll(async () => Number((await driver().get('node.a'))?.revision)).toBeGreaterThan(10);
  await member.fleet.close();
  expect((await readdir(directory)).length).toBeLessThanOrEqual(3);
});

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { queryObjects } from 'node:v8';
import { frameHeader } from '@sheaf/native';
import { describe, expect, it } from 'vitest';
import { OutputDirectory } from '../../src/directory/output_directory.js';
import { packDirectory } from '../../src/directory/pack.js';
import { unpackFiles } from '../../src/directory/unpack.js';
import { temporaryDirectory } from '../support/world.js';

async function write(directory: string, files: Readonly<Record<string, Buffer | string>>): Promise<void> {
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), bytes);
  }
}

const frame = (bytes: Buffer): Buffer => Buffer.concat([frameHeader(bytes.length), bytes]);
const head = (path: unknown, bytes: unknown = 0): Buffer =>
  frame(Buffer.from(JSON.stringify({ path, bytes, executable: false })));

/** Receives bytes as a directory, in pieces. Returns the parent directory, and what the transfer failed with. */
async function receive(bytes: Buffer, size = 1_000) {
  const parent = await temporaryDirectory();
  const output = await OutputDirectory.open(join(parent, 'got'), 'got');
  const failure = await (async () => {
    for (let start = 0; start < bytes.length; start += size) await output.sink(bytes.subarray(start, start + size));
    await output.commit();
  })().then(
    () => undefined,
    (error: unknown) => error as Error & { code: string },
  );
  if (failure) await output.discard();
  return { parent, failure };
}

describe('a directory', () => {
  it.each([1, 1_000, 100_000])('is received as it was packed, in pieces of %i bytes', async (size) => {
    const sent = await temporaryDirectory();
    const files = {
      'a.txt': 'one',
      empty: '',
      'deep/er/b.bin': randomBytes(size === 1 ? 300 : 200_000),
      'deep/\u00e4 b': 'two',
      run: 'three',
    };
    await write(sent, files);
    await chmod(join(sent, 'run'), 0o755);
    const packed = Buffer.concat(await (await packDirectory(sent, 'sent')).toArray());
    const { parent, failure } = await receive(packed, size);
    expect(failure).toBeUndefined();
    expect(await readdir(parent)).toEqual(['got']);
    for (const [path, bytes] of Object.entries(files))
      expect((await readFile(join(parent, 'got', path))).equals(Buffer.from(bytes))).toBe(true);
    const isExecutable = async (path: string) => ((await stat(join(parent, 'got', path))).mode & 0o100) !== 0;
    expect([await isExecutable('run'), await isExecutable('a.txt')]).toEqual([true, false]);
  });

  it('with a link, with nothing, or with a name that nobody accepts is not sent', async () => {
    const sent = await temporaryDirectory();
    await expect(packDirectory(sent, 'sent')).rejects.toThrow('sent has no files');
    await write(sent, { 'a\\b': 'one' });
    await expect(packDirectory(sent, 'sent')).rejects.toThrow('backslash');
    const linked = await temporaryDirectory();
    await symlink('/etc/passwd', join(linked, 'link'));
    await expect(packDirectory(linked, 'linked')).rejects.toThrow('neither a file nor a directory');
  });

  it('has the bytes of the documents', async () => {
    const wire = await readFile(new URL('../../../../docs/reference/wire.md', import.meta.url), 'utf8');
    const [, vector = ''] = /with the bytes `#!`:\n\n```\n([^`]*)```/.exec(wire) ?? [];
    const frames = Array.from(vector.matchAll(/^([0-9a-f]+) +(.*)$/gm), ([, length, text]) =>
      Buffer.concat([Buffer.from(length!, 'hex'), Buffer.from(text!)]),
    );
    const sent = await temporaryDirectory();
    await write(sent, { a: '', 'bin/run': '#!' });
    await chmod(join(sent, 'bin/run'), 0o755);
    const packed = Buffer.concat(await (await packDirectory(sent, 'sent')).toArray());
    expect(packed.toString()).toBe(Buffer.concat(frames).toString());
    const { parent, failure } = await receive(Buffer.concat(frames));
    expect(failure).toBeUndefined();
    expect(await readdir(join(parent, 'got'), { recursive: true })).toEqual(['a', 'bin', 'bin/run']);
  });

  it.each<[string, (path: string) => unknown]>([
    ['a link', (path) => symlink('/etc/passwd', path)],
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
    ['a directory', (path) => mkdir(path)],
  ])('with a file that becomes %s after it was listed is not sent', async (_name, make) => {
    const sent = await temporaryDirectory();
    await write(sent, { 'a/file': 'one' });
    const packed = await packDirectory(sent, 'sent');
    await rm(join(sent, 'a/file'));
    await make(join(sent, 'a/file'));
    await expect(packed.toArray()).rejects.toThrow('a/file changed while it was sent');
  });

  it('with a directory that becomes a link after it was listed is not sent, not even what its files are called', async () => {
    const [sent, elsewhere] = [await temporaryDirectory(), await temporaryDirectory()];
    await write(sent, { 'a/file': 'one' });
    const packed = await packDirectory(sent, 'sent');
    await rename(join(sent, 'a'), join(elsewhere, 'a'));
    await symlink(join(elsewhere, 'a'), join(sent, 'a'));
    let got = 0;
    const read = async () => {
      for await (const piece of packed as AsyncIterable<Buffer>) got += piece.length;
    };
    await expect(read()).rejects.toThrow('a/file changed while it was sent');
    expect(got).toBe(0);
  });

  it('is sent when its user names it by a link', async () => {
    const sent = await temporaryDirectory();
    await write(sent, { 'to/a': 'one' });
    await symlink(join(sent, 'to'), join(sent, 'link'));
    expect(Buffer.concat(await (await packDirectory(join(sent, 'link'), 'link')).toArray()).toString()).toContain(
      'one',
    );
  });

  it('with too many files and directories is neither sent nor received', async () => {
    const sent = await temporaryDirectory();
    await write(sent, { 'a/b/c': 'one', 'a/d': 'two', e: 'three' });
    const packed = Buffer.concat(await (await packDirectory(sent, 'sent', 5)).toArray());
    await expect(packDirectory(sent, 'sent', 4)).rejects.toThrow('more than 4 files and directories');
    const unpack = async (mostEntries: number) =>
      unpackFiles(Readable.from([packed]) as AsyncIterable<Buffer>, await temporaryDirectory(), mostEntries);
    await unpack(5);
    await expect(unpack(4)).rejects.toThrow(RangeError);
  });

  it('is written out of the sight of others, and has the permissions that its place had', async () => {
    const parent = await temporaryDirectory();
    await mkdir(join(parent, 'got'));
    await chmod(join(parent, 'got'), 0o750);
    const output = await OutputDirectory.open(join(parent, 'got'), 'got');
    const [part = ''] = (await readdir(parent)).filter((name) => name !== 'got');
    expect((await stat(join(parent, part))).mode & 0o777).toBe(0o700);
    await output.sink(head('a'));
    await output.commit();
    expect(await readdir(parent)).toEqual(['got']);
    expect((await stat(join(parent, 'got'))).mode & 0o777).toBe(0o750);
  });

  it('stays complete where it is when its name is taken meanwhile', async () => {
    const parent = await temporaryDirectory();
    const output = await OutputDirectory.open(join(parent, 'got'), 'got');
    await output.sink(Buffer.concat([head('a', 3), frame(Buffer.from('one'))]));
    await write(parent, { 'got/other': '' });
    const failure = await output.commit().catch((error: unknown) => error as { code: string; hint: string });
    expect(failure).toMatchObject({ code: 'FILE_UNWRITABLE' });
    await output.discard();
    const [, place = ''] = /take them from (.*)/.exec(failure!.hint) ?? [];
    expect(await readFile(join(place, 'a'), 'utf8')).toBe('one');
    expect(await readdir(join(parent, 'got'))).toEqual(['other']);
  });

  it('holds nothing for writes that are over', async () => {
    const output = await OutputDirectory.open(join(await temporaryDirectory(), 'got'), 'got');
    const piece = Buffer.alloc(100_000);
    const writes = 200;
    await output.sink(head('a', writes * piece.length));
    const before = queryObjects(Promise, { format: 'count' });
    for (let i = 0; i < writes; i += 1) await output.sink(Buffer.concat([frameHeader(piece.length), piece]));
    expect(queryObjects(Promise, { format: 'count' }) - before).toBeLessThan(writes / 2);
    await output.commit();
  });

  it('is not written where something is already', async () => {
    const parent = await temporaryDirectory();
    await write(parent, { 'full/file': '', file: '' });
    await expect(OutputDirectory.open(join(parent, 'full'), 'full')).rejects.toThrow('full is not empty');
    await expect(OutputDirectory.open(join(parent, 'file'), 'file')).rejects.toMatchObject({ code: 'FILE_UNWRITABLE' });
    expect((await readdir(parent)).sort()).toEqual(['file', 'full']);
  });
});

it('a changed publication of a directory writes nothing outside of its directory', async () => {
  const sent = await temporaryDirectory();
  await write(sent, { 'a/b': 'one', c: 'two', 'd/e/f': randomBytes(200) });
  const packed = Buffer.concat(await (await packDirectory(sent, 'sent')).toArray());
  let seed = 14;
  const draw = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const interesting = Buffer.from('/.\\\0"{}0\u007f\u00ff', 'latin1');
  for (let run = 0; run < 100; run += 1) {
    const changed = Buffer.from(packed);
    for (let changes = 1 + draw(6); changes > 0; changes -= 1)
      changed[draw(changed.length)] = draw(2) === 0 ? draw(256) : interesting[draw(interesting.length)]!;
    const { parent, failure } = await receive(changed);
    if (failure) expect(['CHANNEL_INCOMPLETE', 'FILE_UNWRITABLE']).toContain(failure.code);
    expect(await readdir(parent), `run ${run}`).toEqual(failure ? [] : ['got']);
  }
});

describe('nothing is written of a publication', () => {
  it.each([
    ['/etc/evil', 'absolute'],
    ['../evil', 'the name `..`'],
    ['a/../../evil', 'the name `..`'],
    ['a/./b', 'the name `.`'],
    ['', 'empty name'],
    ['a//b', 'empty name'],
    ['a/', 'empty name'],
    ['..\\evil', 'backslash'],
    ['a\0b', 'control character'],
    ['a\nb', 'control character'],
    ['x'.repeat(256), '255 bytes'],
    ['\u00e4'.repeat(128), '255 bytes'],
    [Array.from({ length: 300 }, () => 'abc').join('/'), '1024 bytes'],
    [`${'a/'.repeat(65)}b`, '64 directories deep'],
  ])('with the path %j', async (path, message) => {
    const { parent, failure } = await receive(Buffer.concat([head('good'), head(path)]));
    expect(failure).toMatchObject({ code: 'CHANNEL_INCOMPLETE' });
    expect(failure?.message).toContain(message);
    expect(await readdir(parent)).toEqual([]);
  });

  it.each([
    ['whose last file is cut off', Buffer.concat([head('a', 5), frame(Buffer.from('four'))])],
    ['with more bytes than its head says', Buffer.concat([head('a', 3), frame(Buffer.from('four'))])],
    ['with a head that is no JSON', frame(Buffer.from('hello'))],
    ['with a head that is too long', frame(Buffer.from(`"${'x'.repeat(5_000)}"`))],
    ['with a head that is null', frame(Buffer.from('null'))],
    ['with a path that is a number', head(7)],
    ['with a negative length', head('a', -1)],
    ['that ends within a frame', Buffer.of(0x40)],
  ])('%s', async (_name, bytes) => {
    const { parent, failure } = await receive(bytes);
    expect(failure).toMatchObject({ code: 'CHANNEL_INCOMPLETE' });
    expect(await readdir(parent)).toEqual([]);
  });

  it.each([
    ['twice', [head('a'), head('a')]],
    ['as a file and as a directory', [head('a'), head('a/b')]],
    ['as a directory and as a file', [head('a/b'), head('a')]],
  ])('that has a path %s', async (_name, heads) => {
    const { parent, failure } = await receive(Buffer.concat(heads));
    expect(failure).toMatchObject({ code: 'CHANNEL_INCOMPLETE' });
    expect(failure?.message).toContain('is there twice');
    expect(await readdir(parent)).toEqual([]);
  });
});

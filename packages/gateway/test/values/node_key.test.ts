import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createNodeKey,
  loadDevelopmentKey,
  NodeKey,
  NodePublicKey,
  nodeKeyFile,
  readNodeKey,
} from '../../src/values/node_key.js';

let directory: string;
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'sheaf-keys-'))));
afterEach(() => rm(directory, { recursive: true }));

test('a new key is kept where only its user can read it, and is never written over', async () => {
  const file = nodeKeyFile(directory, 'backend1');
  const key = await createNodeKey(file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(directory, '.sheaf', 'keys'))).mode & 0o077).toBe(0);
  expect((await readNodeKey(file)).publicKey.toString()).toBe(key.publicKey.toString());
  const before = await readFile(file, 'utf8');
  await expect(createNodeKey(file)).rejects.toMatchObject({ code: 'KEY_EXISTS' });
  expect(await readFile(file, 'utf8')).toBe(before);
});

test('a development key is made once, also when several processes ask for it at once', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => loadDevelopmentKey(directory, 'site')));
  expect(new Set(keys.map((key) => key.publicKey.toString())).size).toBe(1);
  expect(await readdir(join(directory, '.sheaf', 'keys'))).toEqual(['site.key']);
});

test('another process sees no key before it is complete', async () => {
  const files = Array.from({ length: 300 }, (_, index) => nodeKeyFile(directory, `node${index}`));
  const reader = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
    const { readFileSync } = require('node:fs');
    const whenThere = (file) => {
      for (;;) try { return readFileSync(file, 'utf8'); } catch {}
    };
    parentPort.postMessage('ready');
    parentPort.postMessage(workerData.map(whenThere));`,
    { eval: true, workerData: files },
  );
  await once(reader, 'message');
  const seen = once(reader, 'message');
  const keys: NodeKey[] = [];
  for (const file of files) keys.push(await createNodeKey(file));
  expect(await seen).toEqual([keys.map((key) => key.toPem())]);
});

test('what a key shows of itself is public', () => {
  const key = NodeKey.generate();
  const secret = key.seed().toString('base64url');
  for (const shown of [
    JSON.stringify({ key }),
    inspect(key, { depth: 10, showHidden: true }),
    String(key),
    String(key.publicKey),
  ])
    expect(shown).not.toContain(secret);
  expect(JSON.stringify({ key })).toContain(key.publicKey.toString());
});

test('public keys have one text', () => {
  const { publicKey } = NodeKey.generate();
  const text = publicKey.toString();
  expect(NodePublicKey.fromText(text)?.equals(publicKey)).toBe(true);
  const last = text.at(-1) ?? '';
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const alternatives = [...letters].filter((letter) => letter !== last).map((letter) => text.slice(0, -1) + letter);
  for (const other of alternatives) expect(NodePublicKey.fromText(other)?.equals(publicKey) ?? false).toBe(false);
  for (const wrong of ['', 'ed25519:', text.slice(1), `${text}A`, text.replace('ed25519', 'rsa'), ` ${text}`])
    expect(NodePublicKey.fromText(wrong)).toBeUndefined();
});

test('signatures are of the key and the message', () => {
  const [key, other] = [NodeKey.generate(), NodeKey.generate()];
  const message = Buffer.from('message');
  const signature = key.sign(message);
  expect(key.publicKey.verifies(message, signature)).toBe(true);
  expect(other.publicKey.verifies(message, signature)).toBe(false);
  expect(key.publicKey.verifies(Buffer.from('massage'), signature)).toBe(false);
  expect(key.publicKey.verifies(message, signature.subarray(1))).toBe(false);
});

test('a key that every user can read is refused', async () => {
  const file = join(directory, 'node.key');
  const key = await createNodeKey(file);
  await chmod(file, 0o640);
  expect((await readNodeKey(file)).publicKey.toString()).toBe(key.publicKey.toString());
  await chmod(file, 0o604);
  await expect(readNodeKey(file)).rejects.toMatchObject({
    code: 'KEY_UNUSABLE',
    message: `every user of this machine can read the node key ${file}`,
  });
});

test('a file that holds no key says so, without its contents', async () => {
  const file = join(directory, 'node.key');
  await writeFile(file, 'TOP SECRET', { mode: 0o600 });
  const error: unknown = await readNodeKey(file).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'KEY_UNUSABLE' });
  expect((error as { render(): string }).render()).not.toContain('TOP SECRET');
  await expect(readNodeKey(join(directory, 'absent.key'))).rejects.toMatchObject({ code: 'KEY_UNUSABLE' });
});

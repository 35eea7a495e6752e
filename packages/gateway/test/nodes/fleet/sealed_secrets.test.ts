import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadSodium } from '../../../src/multi_end/backbone/sealed_message.js';
import { SealedSecrets, sealSecrets, secretsKey } from '../../../src/nodes/fleet/sealed_secrets.js';
import { signEntry } from '../../../src/registry/entry.js';
import { FileDriver } from '../../../src/registry/file_driver.js';
import { formatSecrets, renewSecrets } from '../../../src/tls/server_secrets.js';
import { NodeKey } from '../../../src/values/node_key.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

const site = 'test';
const key = secretsKey('a');
const text = (): string => formatSecrets(renewSecrets([]));

async function receiving(directory?: string) {
  const sodium = await loadSodium();
  const [operator, node] = [NodeKey.generate(), NodeKey.generate()];
  const home = directory ?? (await temporaryDirectory());
  const file = join(home, 'secrets');
  const warnings: string[] = [];
  const common = { site, operator: operator.publicKey, key: node, sodium, file, now: () => 6_000 };
  const secrets = new SealedSecrets({ ...common, warn: (message) => warnings.push(message) });
  const driver = new FileDriver(join(await temporaryDirectory(), 'registry'));
  /** Seals a text, and returns what the registry has then. */
  const seal = async (sealed: string, by = operator, forKey = node.publicKey, now = 5_000): Promise<Buffer> => {
    const node = { name: 'a', publicKey: forKey };
    await sealSecrets({ driver, site, operator: by, sodium, node, text: sealed, now });
    return (await driver.get(key))!.value!;
  };
  const accept = (value: Buffer, revision: number, at = key): boolean => secrets.accept({ key: at, value, revision });
  return { secrets, warnings, file, seal, accept, driver };
}

it('secrets for a node come into its file, and later ones replace them', async () => {
  const { secrets, file, seal, accept } = await receiving();
  const [first, second] = [text(), text()];
  const old = await seal(first);
  expect(accept(old, 1)).toBe(true);
  await secrets.written;
  expect(await readFile(file, 'utf8')).toBe(first);
  expect(accept(await seal(second), 2)).toBe(true);
  await secrets.written;
  expect(await readFile(file, 'utf8')).toBe(second);
  // Read again; and brought back by somebody
  expect(accept(old, 1)).toBe(false);
  expect(() => accept(old, 3)).toThrow(expect.objectContaining({ reason: 'replayed' }) as Error);
  expect(await readFile(file, 'utf8')).toBe(second);
});

it.each([
  ['signed by somebody else', 'forged', NodeKey.generate(), undefined, text()],
  ['sealed for another node', 'malformed', undefined, NodeKey.generate().publicKey, text()],
  ['that hold none', 'malformed', undefined, undefined, 'nothing'],
] as const)('secrets %s are refused', async (_what, reason, by, forKey, sealed) => {
  const { secrets, file, seal, accept } = await receiving();
  const value = await seal(sealed, by, forKey);
  expect(() => accept(value, 1)).toThrow(expect.objectContaining({ reason }) as Error);
  await secrets.written;
  await expect(readFile(file)).rejects.toThrow('ENOENT');
});

it('what a stranger has planted neither ends sealing nor decides which revision comes next', async () => {
  const { seal, accept, driver } = await receiving();
  const planted = Buffer.from(JSON.stringify({ revision: Number.MAX_SAFE_INTEGER - 1, sealed: '' }));
  await driver.heartbeat(key, signEntry(NodeKey.generate(), { site, key }, planted));
  expect(accept(await seal(text()), 2)).toBe(true);
  await driver.heartbeat(key, Buffer.from('no entry'));
  expect(accept(await seal(text(), undefined, undefined, 6_000), 4)).toBe(true);
});

it('secrets of a time far ahead are refused, so later ones can replace them', async () => {
  const { seal, accept } = await receiving();
  const ahead = await seal(text(), undefined, undefined, 10 * 86_400_000);
  expect(() => accept(ahead, 1)).toThrow(expect.objectContaining({ reason: 'malformed' }) as Error);
  expect(accept(await seal(text()), 2)).toBe(true);
});

it('secrets of another node are refused, though this node could open them', async () => {
  const { seal, accept } = await receiving();
  const value = await seal(text());
  expect(() => accept(value, 1, secretsKey('b'))).toThrow(expect.objectContaining({ reason: 'forged' }) as Error);
});

it('a file that cannot be written is told, and stays', async () => {
  const blocked = join(await temporaryDirectory(), 'blocked');
  await writeFile(blocked, '');
  const { secrets, warnings, seal, accept } = await receiving(blocked);
  expect(accept(await seal(text()), 1)).toBe(true);
  await secrets.written;
  expect(warnings).toEqual([expect.stringContaining('cannot be written')]);
});

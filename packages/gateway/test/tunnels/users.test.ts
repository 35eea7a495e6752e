import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { TunnelUsers } from '../../src/tunnels/users.js';

const users = new TunnelUsers('# users\nann:with:colons\n\nbob:token-of-bob\n');
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

it('knows users by Basic and by Bearer', () => {
  expect(users.find(basic('ann:with:colons'))).toBe('ann');
  expect(users.find(basic('bob:token-of-bob').replace('Basic', 'bAsIc'))).toBe('bob');
  expect(users.find('Bearer token-of-bob')).toBe('bob');
});

it.each([
  '',
  'Basic',
  'Basic !!!',
  basic('ann'),
  basic('ann:'),
  basic('ann:with'),
  basic('bob:with:colons'),
  basic('# users:'),
  'Bearer ann',
  'Bearer bob:token-of-bob',
  'Digest token-of-bob',
])('does not know %j', (field) => expect(users.find(field)).toBeUndefined());

async function fileOf(text: string, mode: number): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-users-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, 'users.txt');
  await writeFile(file, text);
  await chmod(file, mode);
  return file;
}

it('reads a file that others cannot read', async () => {
  expect((await TunnelUsers.read(await fileOf('ann:1', 0o600))).find(basic('ann:1'))).toBe('ann');
  for (const [text, mode, message] of [
    ['ann:1', 0o644, 'others than its owner'],
    ['ann:1', 0o640, 'others than its owner'],
    ['ann:1', 0o602, 'others than its owner'],
    ['ann:1\nbob', 0o600, 'line 2'],
    ['ann:same\nbob:same', 0o600, 'line 2 has the password of an earlier line'],
  ] as const) {
    const reading = TunnelUsers.read(await fileOf(text, mode));
    await expect(reading).rejects.toMatchObject({
      code: 'CREDENTIALS_UNUSABLE',
      message: expect.stringContaining(message) as string,
    });
  }
  await expect(TunnelUsers.read('/nowhere')).rejects.toMatchObject({ code: 'CREDENTIALS_UNUSABLE' });
});

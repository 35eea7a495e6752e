import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { SecretsSource } from '../../src/tls/secrets_source.js';
import {
  formatSecrets,
  parseSecrets,
  readSecrets,
  renewSecrets,
  ticketKeys,
  ticketPeriod,
} from '../../src/tls/server_secrets.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const hex = (digit: string): string => digit.repeat(64);
const numbersOf = (secrets: readonly { number: number }[]): number[] => secrets.map(({ number }) => number);

describe('secrets of a server', () => {
  it('are read as they are written', () => {
    const secrets = renewSecrets(renewSecrets([]));
    expect(parseSecrets(formatSecrets(secrets))).toEqual(secrets);
  });

  it('are put to use one renewal after they were made, and kept for one more', () => {
    let secrets = renewSecrets([]);
    expect(secrets).toHaveLength(2);
    for (let renewal = 0; renewal < 20; renewal++) {
      const before = secrets;
      secrets = renewSecrets(before);
      expect(secrets[0]).toEqual(before[1]);
      expect(secrets[2]).toEqual(before[0]);
      expect(new Set(numbersOf(secrets)).size).toBe(3);
    }
  });

  it('do not use a number again soon', () => {
    let secrets = renewSecrets([]);
    const used = [...numbersOf(secrets)];
    for (let renewal = 0; renewal < 12; renewal++) {
      secrets = renewSecrets(secrets);
      used.push(secrets[1]!.number);
    }
    for (let index = 0; index + 7 <= used.length; index++) expect(new Set(used.slice(index, index + 7)).size).toBe(7);
  });

  it.each([
    ['', 'there is no secret'],
    ['# nothing\n\n', 'there is no secret'],
    [`7 ${hex('a')}`, 'line 1 is not'],
    [`-1 ${hex('a')}`, 'line 1 is not'],
    [`0 ${hex('g')}`, 'line 1 is not'],
    [`0 ${hex('A')}`, 'line 1 is not'],
    [`0 ${hex('a')}a`, 'line 1 is not'],
    [`0 ${hex('a')}\n0 ${hex('b')}`, 'line 2 has the number'],
    [[0, 1, 2, 3].map((number) => `${number} ${hex('a')}`).join('\n'), 'more than 3'],
  ])('refuses %j', (text, reason) => {
    expect(() => parseSecrets(text)).toThrow(reason);
  });

  it('make one key for the tickets of a period, and others for other periods and secrets', () => {
    const [first, second] = [renewSecrets([]), renewSecrets([])];
    expect(ticketKeys(first, 5)).toHaveLength(48);
    expect(ticketKeys(first, 5)).toEqual(ticketKeys(first, 5));
    expect(ticketKeys(first, 6)).not.toEqual(ticketKeys(first, 5));
    expect(ticketKeys(second, 5)).not.toEqual(ticketKeys(first, 5));
    expect(ticketPeriod(new Date('2026-01-01T05:59:59Z'))).toBe(ticketPeriod(new Date('2026-01-01T00:00:00Z')));
    expect(ticketPeriod(new Date('2026-01-01T06:00:00Z'))).toBe(ticketPeriod(new Date('2026-01-01T00:00:00Z')) + 1);
  });
});

describe('a file of secrets', () => {
  const write = async (text: string): Promise<string> => {
    const file = join(await temporaryDirectory(), 'secrets');
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };

  it('is refused with a reason and a way out when it is faulty, absent, or open to others', async () => {
    const faulty = await write('nonsense');
    await expect(readSecrets(faulty)).rejects.toMatchObject({
      code: 'CREDENTIALS_UNUSABLE',
      message: expect.stringContaining('line 1') as string,
      hint: 'make the file with `sheaf secrets`',
    });
    await expect(readSecrets(`${faulty}-absent`)).rejects.toMatchObject({ code: 'CREDENTIALS_UNUSABLE' });
    const open = await write(formatSecrets(renewSecrets([])));
    await chmod(open, 0o644);
    await expect(readSecrets(open)).rejects.toThrow('others than its owner');
  });

  it('never has its secrets in an error', async () => {
    const file = await write(`0 ${hex('a')}\n0 ${hex('b')}`);
    await expect(readSecrets(file)).rejects.toSatisfy((error: Error) => !/aaaa|bbbb/.test(error.message));
  });

  it('is read again when it changes, and the old secrets stay when the new ones are faulty', async () => {
    const before = renewSecrets([]);
    const file = await write(formatSecrets(before));
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    let now = new Date('2026-01-01T00:00:00Z');
    const source = await SecretsSource.open({ file, log, now: () => now });
    let installed = 0;
    source.install = () => void installed++;
    const key = source.ticketKeys;

    await source.refresh();
    expect(installed).toBe(0);
    await writeFile(file, 'nonsense');
    await source.refresh();
    expect(installed).toBe(0);
    expect(source.secrets).toEqual(before);
    expect(lines.join('')).toContain('the new secrets are refused');

    const after = renewSecrets(before);
    await writeFile(file, formatSecrets(after));
    await source.refresh();
    expect(installed).toBe(1);
    expect(source.secrets).toEqual(after);
    expect(source.ticketKeys).not.toEqual(key);
    const renewed = source.ticketKeys;
    now = new Date('2026-01-01T06:00:00Z');
    await source.refresh();
    expect(installed).toBe(2);
    expect(source.ticketKeys).not.toEqual(renewed);
    for (const { secret } of [...before, ...after])
      expect(lines.join('')).not.toContain(Buffer.from(secret).toString('hex'));
    source.close();
  });
});

import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { ServerSecret } from '@sheaf/native';
import { errorMessage } from '../errors/user_error.js';
import { readSecretFile, unusable } from '../values/secret_file.js';

/** Numbers that secrets can have (docs/reference/wire.md#connection-ids) */
const numbers = 7;
const secretBytes = 32;
/** What is in use, what comes next, and what was in use before */
const kept = 3;
/** Length of the key that Node takes for tickets, in bytes */
const ticketKeyBytes = 48;
/** Time for which a key seals tickets of TCP connections, in milliseconds */
const ticketKeyMs = 6 * 60 * 60 * 1_000;

/**
 * Reads lines `NUMBER SECRET`, the secret in use first; empty lines and those that begin with `#` say nothing.
 * @throws RangeError that names the line
 */
export function parseSecrets(text: string): ServerSecret[] {
  const secrets: ServerSecret[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, number, hex] = /^([0-6]) ([0-9a-f]{64})$/.exec(line) ?? [];
    if (number === undefined || hex === undefined) throw new RangeError(`line ${index + 1} is not \`NUMBER SECRET\``);
    if (secrets.some((secret) => secret.number === Number(number)))
      throw new RangeError(`line ${index + 1} has the number of an earlier line`);
    if (secrets.length === kept) throw new RangeError(`there are more than ${kept} secrets`);
    secrets.push({ number: Number(number), secret: Buffer.from(hex, 'hex') });
  }
  if (secrets.length === 0) throw new RangeError('there is no secret in it');
  return secrets;
}

/** Returns the file's text for these secrets. */
export function formatSecrets(secrets: readonly ServerSecret[]): string {
  const lines = secrets.map(({ number, secret }) => `${number} ${Buffer.from(secret).toString('hex')}`);
  return [
    '# Secrets of a server, or of all servers behind one address. Keep them as you keep private keys.',
    '# First the one in use, then the one that comes next, then the one before. `sheaf secrets` renews them.',
    ...lines,
    '',
  ].join('\n');
}

/**
 * Returns the secrets that follow. The next one is put to use, and a new one comes next. So a secret is in use only once all
 * servers that share the file have had it for the time between two renewals.
 */
export function renewSecrets(secrets: readonly ServerSecret[]): ServerSecret[] {
  const [inUse, next] = secrets;
  const first = next ?? inUse ?? newSecret(secrets);
  const fresh = newSecret([...secrets, first]);
  return [first, fresh, ...(inUse && inUse !== first ? [inUse] : [])];
}

function newSecret(others: readonly ServerSecret[]): ServerSecret {
  const taken = new Set(others.map(({ number }) => number));
  // A number comes again as late as possible: its old ids may still be in use somewhere.
  const latest = others[1]?.number ?? others[0]?.number ?? numbers - 1;
  const steps = Array.from({ length: numbers }, (_, step) => (latest + 1 + step) % numbers);
  const number = steps.find((candidate) => !taken.has(candidate)) ?? 0;
  return { number, secret: randomBytes(secretBytes) };
}

/** Reads a file of secrets. @throws UserError when it cannot be read, is faulty, or others than its owner can read it */
export async function readSecrets(file: string): Promise<ServerSecret[]> {
  const text = await readSecretFile(file, { noun: 'the secrets of the server', option: 'secrets' });
  try {
    return parseSecrets(text);
  } catch (error) {
    throw unusable(`${file}: ${errorMessage(error)}`, 'make the file with `sheaf secrets`', error);
  }
}

/** Returns the period of a time, in which one key seals the tickets of TCP connections. */
export function ticketPeriod(now: Date): number {
  return Math.floor(now.getTime() / ticketKeyMs);
}

/** Returns the key for tickets of TCP connections in a period, as Node takes it: that of the secret in use (RFC 5869). */
export function ticketKeys([inUse]: readonly ServerSecret[], period: number): Buffer {
  const secret = inUse?.secret ?? randomBytes(secretBytes);
  return Buffer.from(hkdfSync('sha256', secret, '', `sheaf tcp tickets ${period}`, ticketKeyBytes));
}

/**
 * Returns the key with which balancers read the ids of servers that have this secret (draft-ietf-quic-load-balancers-21 §5.4):
 * HKDF-Expand (RFC 5869 §2.3), which gives 16 bytes of the first block here.
 */
export function balancerKey({ secret }: ServerSecret): Buffer {
  return createHmac('sha256', secret).update('sheaf quic-lb').update(Uint8Array.of(1)).digest().subarray(0, 16);
}

import type { Stats } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  balancerKey,
  exitCodes,
  formatSecrets,
  readSecrets,
  renewSecrets,
  replaceFile,
  systemErrorCode,
  UserError,
} from '@sheaf/gateway';
import type { Command } from '../command.js';
import { printLine, type World } from '../world.js';

type Secrets = ReturnType<typeof renewSecrets>;

/** Length of nonces in connection ids (docs/reference/wire.md#connection-ids) */
const nonceBytes = 8;

interface SecretsOptions {
  file: string;
  balancer: boolean;
  json: boolean;
}

export const secrets: Command<SecretsOptions> = {
  usage: 'secrets <file>',
  summary: "Renew the secrets of a server's tickets, tokens and resets, or make them when there are none",
  options: (yargs) =>
    yargs
      .positional('file', {
        type: 'string',
        demandOption: true,
        describe: 'File that `secrets` of a configuration names; running nodes read it within a second',
      })
      .option('balancer', {
        type: 'boolean',
        default: false,
        describe: 'Print the keys with which balancers find servers in connection ids (QUIC-LB), and change nothing',
      })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 secrets ./secrets', 'Put the next secret to use, and make a new one that comes next')
      .example('$0 secrets ./secrets --balancer', 'Print what a balancer needs to know'),
  async run({ file, balancer, json }, world) {
    const path = resolve(world.cwd, file);
    if (balancer) return printBalancerKeys(path, json, world);
    const { before, after } = await alone(path, () => renew(path));
    const [inUse, next] = after.map(({ number }) => number);
    await printLine(
      world.stdout,
      json
        ? JSON.stringify({ file: path, in_use: inUse, next })
        : `${before.length === 0 ? 'made' : 'renewed'} ${path}: secret ${inUse} is in use, ${next} comes next`,
    );
    return exitCodes.success;
  },
};

/** Prints the key of each secret, with its number, which is that of the configuration of a balancer. */
async function printBalancerKeys(file: string, json: boolean, { stdout }: World): Promise<number> {
  const keys = (await readSecrets(file)).map((secret) => ({
    number: secret.number,
    key: balancerKey(secret).toString('hex'),
  }));
  const text = keys.map(({ number, key }) => `${number} ${key}`).join('\n');
  await printLine(stdout, json ? JSON.stringify({ nonce_bytes: nonceBytes, keys }) : text);
  return exitCodes.success;
}

async function renew(file: string): Promise<{ before: Secrets; after: Secrets }> {
  const old = await statOf(file);
  const before = old ? await readSecrets(file) : [];
  const after = renewSecrets(before);
  await replaceFile(file, formatSecrets(after), old).catch((error: unknown) => {
    throw unwritable(file, error);
  });
  return { before, after };
}

/** Does `work` while nobody else renews this file: of two who read the same secrets, one would undo what the other wrote. */
async function alone<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  const lock = `${file}.lock`;
  try {
    await writeFile(lock, `${process.pid}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw unwritable(file, error);
    throw new UserError('FILE_UNWRITABLE', `another process renews the secrets in ${file}`, {
      hint: `try again, or remove ${lock} when no \`sheaf secrets\` runs`,
      cause: error,
    });
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function statOf(file: string): Promise<Stats | undefined> {
  try {
    return await stat(file);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw unwritable(file, error);
  }
}

function unwritable(file: string, error: unknown): UserError {
  return new UserError(
    'DIRECTORY_UNWRITABLE',
    `the file ${file} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`,
    { hint: 'make its directory, or make it writable', cause: error },
  );
}

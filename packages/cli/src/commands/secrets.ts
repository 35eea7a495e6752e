import { randomUUID } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { exitCodes, formatSecrets, readSecrets, renewSecrets, systemErrorCode, UserError } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { printLine } from '../world.js';

interface SecretsOptions {
  file: string;
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
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 secrets ./secrets', 'Put the next secret to use, and make a new one that comes next'),
  async run({ file, json }, world) {
    const path = resolve(world.cwd, file);
    const before = (await exists(path)) ? await readSecrets(path) : [];
    const after = renewSecrets(before);
    await replace(path, formatSecrets(after));
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

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return false;
    throw unwritable(file, error);
  }
}

/** Replaces a file by one that only its owner can read, and that nobody sees before it is complete. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
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

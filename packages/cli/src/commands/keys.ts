import { dirname, relative, resolve } from 'node:path';
import { createNodeKey, exitCodes, nodeKeyFile, readNodeKey, UserError } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { printLine } from '../world.js';

interface KeysOptions {
  action: string;
  name: string;
  file: string;
  json: boolean;
}

export const keys: Command<KeysOptions> = {
  usage: 'keys <action> [name]',
  summary: 'Create the key pair of a node, or print its public key',
  options: (yargs) =>
    yargs
      .positional('action', {
        type: 'string',
        demandOption: true,
        choices: ['new', 'show'],
        describe: 'Create the key pair, or print its public key',
      })
      .positional('name', { type: 'string', default: 'node', describe: 'Name of the node' })
      .option('file', {
        type: 'string',
        default: 'sheaf.yaml',
        requiresArg: true,
        describe: 'Configuration file; keys are kept in .sheaf/keys/ beside it',
      })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 keys new backend1', 'Write .sheaf/keys/backend1.key and print the public key')
      .example('$0 keys show backend1', 'Print the public key again'),
  async run({ action, name, file, json }, world) {
    if (!/^[a-z][a-z0-9_-]*$/i.test(name))
      throw new UserError('USAGE', `\`${name}\` is not a name of a node`, {
        hint: 'a name is made of letters, digits, `-` and `_`',
      });
    const path = nodeKeyFile(dirname(resolve(world.cwd, file)), name);
    const { publicKey } = action === 'new' ? await createNodeKey(path) : await readNodeKey(path);
    const shown = relative(world.cwd, path);
    if (json) await printLine(world.stdout, JSON.stringify({ file: path, public_key: publicKey.toString() }));
    else {
      await printLine(
        world.stdout,
        `${action === 'new' ? 'wrote ' : ''}${shown.startsWith('..') ? path : shown}, which stays on this machine`,
      );
      await printLine(world.stdout, `public_key: ${publicKey.toString()}`);
    }
    return exitCodes.success;
  },
};

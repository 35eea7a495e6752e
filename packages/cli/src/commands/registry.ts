import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import {
  exitCodes,
  nodeKeyFile,
  parseConfiguration,
  publishDocument,
  readConfiguration,
  readNodeKey,
  UserError,
} from '@sheaf/gateway';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { printLine } from '../world.js';

interface RegistryCommandOptions {
  action: string;
  file: string;
  key: string | undefined;
  json: boolean;
}

export const registry: Command<RegistryCommandOptions> = {
  usage: 'registry <action> [file]',
  summary: 'Sign the configuration of a fleet, and put it into its registry',
  options: (yargs) =>
    yargs
      .positional('action', {
        type: 'string',
        demandOption: true,
        choices: ['publish'],
        describe: 'Sign the file, and put it into the registry that it names',
      })
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file of the whole fleet' })
      .option('key', {
        type: 'string',
        requiresArg: true,
        describe: 'Key of the operator. Default: .sheaf/keys/operator.key beside the file',
      })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 registry publish sheaf.yaml', 'Make all nodes that follow the operator reload this configuration'),
  async run({ file, key, json }, world) {
    const path = shownPath(file, world.cwd);
    const text = await readConfiguration(path);
    // Files of the nodes are on their machines.
    const { registry: loaded } = parseConfiguration(text, path);
    const operator = loaded?.options.operator;
    if (!loaded || !operator)
      throw new UserError('USAGE', `${file} names no operator`, {
        hint: 'make a key with `sheaf keys new operator`, and add `registry: { nats: […], operator: ed25519:… }`',
      });
    const keyFile = key === undefined ? nodeKeyFile(dirname(resolve(path)), 'operator') : resolve(world.cwd, key);
    const operatorKey = await readNodeKey(keyFile);
    if (!operatorKey.publicKey.equals(operator))
      throw new UserError('KEY_UNUSABLE', `${keyFile} is the key of ${operatorKey.publicKey.toString()}`, {
        hint: `bring the key of the \`operator\` in the file, ${operator.toString()}`,
      });
    const revision = await publishDocument({ registry: loaded, operator: operatorKey, text });
    const version = createHash('sha256').update(text).digest('hex');
    await printLine(
      world.stdout,
      json
        ? JSON.stringify({ revision, version })
        : `published revision ${revision}: nodes run it once \`sheaf status\` shows ${version.slice(0, 12)}`,
    );
    return exitCodes.success;
  },
};

import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import {
  exitCodes,
  formatSecrets,
  nodeKeyFile,
  parseConfiguration,
  publishDocument,
  publishSecrets,
  readConfiguration,
  readNodeKey,
  readSecrets,
  UserError,
  type LoadedConfiguration,
} from '@sheaf/gateway';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { printLine } from '../world.js';

interface RegistryCommandOptions {
  action: string;
  file: string;
  key: string | undefined;
  secrets: string | undefined;
  json: boolean;
}

/** What an operator puts into the registry */
interface Publication {
  path: string;
  text: string;
  configuration: LoadedConfiguration;
  operator: Awaited<ReturnType<typeof readNodeKey>>;
}

/** What a command tells people, and programs */
interface Outcome {
  line: string;
  json: object;
}

export const registry: Command<RegistryCommandOptions> = {
  usage: 'registry <action> [file]',
  summary: 'Sign the configuration of a fleet, or seal its secrets, and put them into its registry',
  options: (yargs) =>
    yargs
      .positional('action', {
        type: 'string',
        demandOption: true,
        choices: ['publish', 'secrets'],
        describe: 'Sign the file and publish it, or seal secrets for its nodes',
      })
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file of the whole fleet' })
      .option('key', {
        type: 'string',
        requiresArg: true,
        describe: 'Key of the operator. Default: .sheaf/keys/operator.key beside the file',
      })
      .option('secrets', {
        type: 'string',
        requiresArg: true,
        describe: 'File that `sheaf secrets` made. Default: secrets beside the file',
      })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 registry publish sheaf.yaml', 'Make all nodes that follow the operator reload this configuration')
      .example('$0 registry secrets sheaf.yaml', 'Give ./secrets to all nodes of the file that have `secrets`'),
  async run({ action, file, key, secrets, json }, world) {
    const path = shownPath(file, world.cwd);
    const publication = await publicationOf(path, file, key === undefined ? undefined : resolve(world.cwd, key));
    const secretsFile = secrets === undefined ? resolve(dirname(path), 'secrets') : resolve(world.cwd, secrets);
    const outcome = action === 'publish' ? await publish(publication) : await seal(publication, secretsFile);
    await printLine(world.stdout, json ? JSON.stringify(outcome.json) : outcome.line);
    return exitCodes.success;
  },
};

/** Reads the file and the key of its operator. `file` is as the user wrote it. @throws UserError */
async function publicationOf(path: string, file: string, key: string | undefined): Promise<Publication> {
  const text = await readConfiguration(path);
  // Files of the nodes are on their machines.
  const configuration = parseConfiguration(text, path);
  const wanted = configuration.registry?.options.operator;
  if (!wanted)
    throw new UserError('USAGE', `${file} names no operator`, {
      hint: 'make a key with `sheaf keys new operator`, and add `registry: { nats: […], operator: ed25519:… }`',
    });
  const keyFile = key ?? nodeKeyFile(dirname(resolve(path)), 'operator');
  const operator = await readNodeKey(keyFile);
  if (operator.publicKey.equals(wanted)) return { path, text, configuration, operator };
  throw new UserError('KEY_UNUSABLE', `${keyFile} is the key of ${operator.publicKey.toString()}`, {
    hint: `bring the key of the \`operator\` in the file, ${wanted.toString()}`,
  });
}

async function publish({ configuration, operator, text }: Publication): Promise<Outcome> {
  const revision = await publishDocument({ registry: configuration.registry!, operator, text, now: Date.now() });
  const version = createHash('sha256').update(text).digest('hex');
  return {
    line: `published revision ${revision}: nodes run it once \`sheaf status\` shows ${version.slice(0, 12)}`,
    json: { revision, version },
  };
}

async function seal({ path, configuration, operator }: Publication, file: string): Promise<Outcome> {
  const text = formatSecrets(await readSecrets(file));
  const nodes = await publishSecrets({ configuration, operator, text, now: Date.now() });
  if (nodes.length === 0)
    throw new UserError('USAGE', `no node of ${path} has \`secrets\``, {
      hint: 'add `secrets: ./secrets` to the nodes that are to share them',
    });
  return { line: `sealed ${file} for ${nodes.join(', ')}`, json: { nodes } };
}

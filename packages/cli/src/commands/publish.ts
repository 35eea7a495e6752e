import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { adminHeader, exitCodes, loadConfiguration, UserError, type Published } from '@sheaf/gateway';
import { askAdmin } from '../admin.js';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { packDirectory } from '../directory/pack.js';
import { adminOf } from '../gateway_admin.js';
import { unreadableInput } from '../unreadable_input.js';
import { printLine, type World } from '../world.js';

interface PublishOptions {
  channel: string;
  input: string;
  file: string;
  admin: string | undefined;
  json: boolean;
}

export const publish: Command<PublishOptions> = {
  usage: 'publish <channel> <input> [file]',
  summary: 'Send a file or a directory to everybody who watches a channel of a running gateway',
  options: (yargs) =>
    yargs
      .positional('channel', { type: 'string', demandOption: true, describe: 'Name of the channel' })
      .positional('input', {
        type: 'string',
        demandOption: true,
        describe: 'File or directory to send, or - for standard input',
      })
      .positional('file', fileWithAdmin)
      .option('admin', adminInstead)
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON about what was sent' })
      .example('$0 publish live update.bin', 'Send a file once')
      .example('$0 publish live ./slides', 'Send the files below a directory')
      .example('camera | $0 publish live -', 'Send what a program writes'),
  async run({ channel, input, file, admin, json }, world) {
    const address =
      admin ??
      adminOf(await loadConfiguration(shownPath(file, world.cwd), { filesOf: () => false }), file, {
        noun: 'channel',
        name: channel,
        code: 'CHANNEL_UNKNOWN',
        namesOf: ({ node }) => Object.keys(node.channels),
      });
    const { name, directory, body } = await openInput(input, world);
    const { status, text } = await askAdmin(
      address,
      `/channels/${encodeURIComponent(channel)}?name=${encodeURIComponent(name)}${directory ? '&directory' : ''}`,
      { method: 'POST', headers: { [adminHeader]: '1' }, body },
    );
    if (status === 404)
      throw new UserError('CHANNEL_UNKNOWN', `the gateway at ${address} has no channel \`${channel}\``, {
        hint: '`sheaf status` lists its channels',
      });
    if (status !== 200)
      throw new UserError('ADMIN_UNREACHABLE', `${address} answered: ${text.trim()}`, {
        hint: status === 503 ? 'try again in a second' : 'is it the admin address of a gateway?',
      });
    const { bytes, sha256 } = JSON.parse(text) as Published;
    await printLine(world.stdout, json ? text.trim() : `${bytes} bytes given to the channel, sha256 ${sha256}`);
    return exitCodes.success;
  },
};

/** What is sent, and what it is called */
interface Input {
  name: string;
  directory: boolean;
  body: Readable;
}

async function openInput(input: string, { cwd }: World): Promise<Input> {
  if (input === '-') return { name: '', directory: false, body: process.stdin };
  const path = resolve(cwd, input);
  const name = basename(path);
  const directory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (directory) return { name, directory, body: await packDirectory(path, input) };
  const body = createReadStream(path);
  try {
    await once(body, 'ready');
    return { name, directory, body };
  } catch (error) {
    throw unreadableInput(input, error);
  }
}

import { adminHeader, exitCodes, loadConfiguration, UserError } from '@sheaf/gateway';
import { askAdmin } from '../admin.js';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { adminOf } from '../gateway_admin.js';
import { printLine } from '../world.js';

interface BackendOptions {
  action: string;
  name: string;
  file: string;
  admin: string | undefined;
}

export const backend: Command<BackendOptions> = {
  usage: 'backend <action> <name> [file]',
  summary: 'Drain a backend of a running gateway, or put it back into service',
  options: (yargs) =>
    yargs
      .positional('action', {
        type: 'string',
        demandOption: true,
        choices: ['drain', 'resume'],
        describe: 'Send the backend no new requests (those in flight finish), or use it again',
      })
      .positional('name', { type: 'string', demandOption: true, describe: 'Name of the backend' })
      .positional('file', fileWithAdmin)
      .option('admin', adminInstead)
      .example('$0 backend drain backend1', 'Before backend1 is restarted')
      .example('$0 backend resume backend1', 'Once it is back'),
  async run({ action, name, file, admin }, world) {
    const address =
      admin ??
      adminOf(await loadConfiguration(shownPath(file, world.cwd), { filesOf: () => false }), file, {
        noun: 'backend',
        name,
        code: 'NODE_UNKNOWN',
        namesOf: ({ backends }) => backends.map((each) => each.name),
      });
    const { status, text } = await askAdmin(address, `/backends/${encodeURIComponent(name)}/${action}`, {
      method: 'POST',
      headers: { [adminHeader]: '1' },
    });
    if (status === 404)
      throw new UserError('NODE_UNKNOWN', `the gateway at ${address} has no backend \`${name}\``, {
        hint: '`sheaf status` lists its backends',
      });
    if (status !== 200)
      throw new UserError('ADMIN_UNREACHABLE', `${address} answered: ${text.trim()}`, {
        hint: 'is it the admin address of a gateway?',
      });
    await printLine(
      world.stdout,
      action === 'drain'
        ? `${name} gets no new requests; \`sheaf status\` shows those in flight`
        : `${name} is used again`,
    );
    return exitCodes.success;
  },
};

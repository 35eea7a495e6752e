import { adminHeader, exitCodes, UserError } from '@sheaf/gateway';
import type { ReloadOutcome } from '@sheaf/gateway';
import { askAdmin } from '../admin.js';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import { anyAdminOf } from '../any_admin.js';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { printReload } from '../print_reload.js';
import { printLine } from '../world.js';

interface ReloadOptions {
  file: string;
  admin: string | undefined;
  json: boolean;
}

/** Longest wait in milliseconds: servers behind a new route are asked before the reload is done. */
const timeoutMs = 60_000;

export const reload: Command<ReloadOptions> = {
  usage: 'reload [file]',
  summary: 'Make running nodes read their configuration file again',
  options: (yargs) =>
    yargs
      .positional('file', fileWithAdmin)
      .option('admin', adminInstead)
      .option('json', { type: 'boolean', default: false, describe: 'Print the outcome as JSON' })
      .example('$0 reload', 'Apply what was changed in sheaf.yaml, without an interruption'),
  async run({ file, admin, json }, world) {
    const advice = 'send SIGHUP to the process, or add `admin: 127.0.0.1:9433` and restart it';
    const address = admin ?? (await anyAdminOf(shownPath(file, world.cwd), file, advice));
    const { status, text } = await askAdmin(address, '/reload', {
      method: 'POST',
      headers: { [adminHeader]: '1' },
      timeoutMs,
    });
    if (status === 404)
      throw new UserError('RELOAD_REFUSED', `the node at ${address} runs by no file`, {
        hint: 'nodes that `sheaf up` started can reload',
      });
    if (status !== 200 && status !== 422)
      throw new UserError('ADMIN_UNREACHABLE', `${address} answered: ${text.trim()}`, {
        hint: 'is it the admin address of a node?',
      });
    const outcome = JSON.parse(text) as ReloadOutcome;
    if (json) await printLine(world.stdout, JSON.stringify(outcome));
    else await printReload(outcome, world);
    return outcome.accepted ? exitCodes.success : exitCodes.failed;
  },
};

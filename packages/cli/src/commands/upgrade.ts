import { adminHeader, exitCodes, UserError, type UpgradeOutcome } from '@sheaf/gateway';
import { askAdmin } from '../admin.js';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import { anyAdminOf } from '../any_admin.js';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { printUpgrade } from '../print_upgrade.js';
import { printLine } from '../world.js';

interface UpgradeOptions {
  file: string;
  admin: string | undefined;
  json: boolean;
}

/** Longest wait in milliseconds: the new process has 30 s to get ready, and as much to serve. */
const timeoutMs = 90_000;

export const upgrade: Command<UpgradeOptions> = {
  usage: 'upgrade [file]',
  summary: 'Make a new process take over from running nodes, without an interruption',
  options: (yargs) =>
    yargs
      .positional('file', fileWithAdmin)
      .option('admin', adminInstead)
      .option('json', { type: 'boolean', default: false, describe: 'Print the outcome as JSON' })
      .example('$0 upgrade', 'Run the version and the configuration that are on the disk now'),
  async run({ file, admin, json }, world) {
    const advice = 'send SIGUSR2 to the process, or add `admin: 127.0.0.1:9433` and restart it';
    const address = admin ?? (await anyAdminOf(shownPath(file, world.cwd), file, advice));
    const { status, text } = await askAdmin(address, '/upgrade', {
      method: 'POST',
      headers: { [adminHeader]: '1' },
      timeoutMs,
    });
    if (status === 404)
      throw new UserError('UPGRADE_REFUSED', `no other process can take over from the node at ${address}`, {
        hint: 'nodes that `sheaf up` started can be upgraded',
      });
    if (status !== 200 && status !== 422)
      throw new UserError('ADMIN_UNREACHABLE', `${address} answered: ${text.trim()}`, {
        hint: 'is it the admin address of a node?',
      });
    const outcome = JSON.parse(text) as UpgradeOutcome;
    if (json) await printLine(world.stdout, JSON.stringify(outcome));
    else await printUpgrade(outcome, world);
    return outcome.accepted ? exitCodes.success : exitCodes.failed;
  },
};

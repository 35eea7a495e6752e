import { exitCodes, UserError, type UpgradeOutcome } from '@sheaf/gateway';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import { askProcess } from '../ask_process.js';
import type { Command } from '../command.js';
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
    const question = {
      file,
      admin,
      path: '/upgrade',
      timeoutMs,
      advice: 'send SIGUSR2 to the process, or add `admin: 127.0.0.1:9433` and restart it',
      unable: (address: string) =>
        new UserError('UPGRADE_REFUSED', `no other process can take over from the node at ${address}`, {
          hint: 'nodes that `sheaf up` started can be upgraded',
        }),
    };
    const outcome = await askProcess<UpgradeOutcome>(question, world.cwd);
    if (json) await printLine(world.stdout, JSON.stringify(outcome));
    else await printUpgrade(outcome, world);
    return outcome.accepted ? exitCodes.success : exitCodes.failed;
  },
};

import { exitCodes, UserError, type ReloadOutcome } from '@sheaf/gateway';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import { askProcess } from '../ask_process.js';
import type { Command } from '../command.js';
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
    const question = {
      file,
      admin,
      path: '/reload',
      timeoutMs,
      advice: 'send SIGHUP to the process, or add `admin: 127.0.0.1:9433` and restart it',
      unable: (address: string) =>
        new UserError('RELOAD_REFUSED', `the node at ${address} runs by no file`, {
          hint: 'nodes that `sheaf up` started can reload',
        }),
    };
    const outcome = await askProcess<ReloadOutcome>(question, world.cwd);
    if (json) await printLine(world.stdout, JSON.stringify(outcome));
    else await printReload(outcome, world);
    return outcome.accepted ? exitCodes.success : exitCodes.failed;
  },
};

import { configurationWarnings, exitCodes, loadConfiguration } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { shownPath } from '../configuration_file.js';
import { printLine } from '../world.js';

export const check: Command<{ file: string }> = {
  usage: 'check [file]',
  summary: 'Check a configuration file and what it names',
  options: (yargs) =>
    yargs
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file' })
      .example('$0 check sheaf.yaml', 'Exit with code 0 when it is valid, else with 2'),
  async run({ file }, world) {
    const path = shownPath(file, world.cwd);
    for (const warning of await configurationWarnings(path)) await printLine(world.stderr, `${warning}\n`);
    await loadConfiguration(path);
    await printLine(world.stdout, 'Valid configuration');
    return exitCodes.success;
  },
};

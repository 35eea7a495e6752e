import { configurationSchema, exitCodes } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { printLine } from '../world.js';

export const schema: Command<object> = {
  usage: 'schema',
  summary: 'Print the JSON Schema of the configuration file',
  options: (yargs) =>
    yargs
      .example('$0 schema > sheaf.schema.json', 'Write it to a file')
      .example('# yaml-language-server: $schema=sheaf.schema.json', 'Use it in editors: the first line of sheaf.yaml'),
  async run(_options, world) {
    await printLine(world.stdout, JSON.stringify(configurationSchema(), undefined, 2));
    return exitCodes.success;
  },
};

import { basename, resolve } from 'node:path';
import { experimentCommands, printLine, type Command } from '@sheaf/cli';
import { exitCodes, UserError } from '@sheaf/gateway';

interface RecordOptions {
  file: string;
  output: string;
  name: string | undefined;
}

export const record: Command<RecordOptions> = {
  ...experimentCommands.record,
  options: (yargs) =>
    yargs
      .positional('file', {
        type: 'string',
        demandOption: true,
        describe: 'HAR file, as the developer tools of browsers save it',
      })
      .option('output', {
        alias: 'o',
        type: 'string',
        demandOption: true,
        requiresArg: true,
        describe: 'Directory for the table and the page',
      })
      .option('name', { type: 'string', requiresArg: true, describe: 'Name of the page; default: that of the file' })
      .example('$0 record shop.har -o pages', 'Writes pages/shop.tsv and pages/shop/index.html'),
  async run({ file, output, name = basename(file).replace(/\.har$/i, '') }, world) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
      throw new UserError('USAGE', `--name: ${JSON.stringify(name)} is no name for a page`, {
        hint: 'letters, digits, dots, hyphens and underscores, such as --name shop',
      });
    }
    const { recordHar } = await import('../pages/record/record.js');
    const recording = await recordHar(resolve(world.cwd, file), resolve(world.cwd, output), name);
    const bytes = recording.resources.reduce((sum, resource) => sum + resource.bytes, 0);
    await printLine(
      world.stdout,
      `${recording.resources.length} resources, ${bytes} bytes: ${recording.table}, ${recording.site}`,
    );
    for (const [why, count] of Object.entries(recording.leftOut))
      await printLine(world.stderr, `left out, ${why}: ${count}`);
    if (recording.invalid > 0) await printLine(world.stderr, `too small for valid content: ${recording.invalid}`);
    if (recording.documentGrowth > 0)
      await printLine(
        world.stderr,
        `the document is ${recording.documentGrowth} bytes longer than recorded, for its references`,
      );
    return exitCodes.success;
  },
};

import { errorMessage, UserError } from '@sheaf/gateway';
import type { Command } from '../command.js';

interface BenchOptions {
  name: string;
  json: boolean;
  [option: string]: unknown;
}

export const bench: Command<BenchOptions> = {
  usage: 'bench <name>',
  summary: 'Run an experiment and print its table',
  options: (yargs) =>
    yargs
      .positional('name', { type: 'string', demandOption: true, describe: 'Experiment, such as engine or http' })
      .option('json', { type: 'boolean', default: false, describe: 'Print only JSON on standard output' })
      // Every experiment has options of its own and checks them itself.
      .strict(false)
      .strictCommands(false)
      .example('$0 bench engine --json', 'Cost of the transport alone, in memory')
      .example('$0 bench http', 'Throughput and requests per second over loopback'),
  async run({ name, $0: _program, _: _positionals, ...options }, world) {
    const { runBench } = await loadBench();
    return runBench(name, options, world);
  },
};

/** The experiments. Loaded on demand: gateways run without them. @throws UserError */
export async function loadBench(): Promise<typeof import('@sheaf/bench')> {
  return import('@sheaf/bench').catch((error: unknown) => {
    throw new UserError('BENCH_UNKNOWN', `the experiments cannot be loaded: ${errorMessage(error)}`, { hint: 'install @sheaf/bench, or run `npm run setup` in the repository', cause: error });
  });
}

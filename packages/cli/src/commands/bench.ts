import { errorMessage, UserError } from '@sheaf/gateway';
import type { Command } from '../command.js';
import type { World } from '../world.js';

interface BenchOptions {
  name: string;
  json: boolean;
  [option: string]: unknown;
}

/** What @sheaf/bench offers to this command. */
interface BenchModule {
  benchNames: readonly string[];
  runBench(name: string, options: Record<string, unknown>, world: Pick<World, 'stdout' | 'stderr'>): Promise<number>;
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
    const module = await loadBench();
    return module.runBench(name, options, world);
  },
};

/** Loaded on demand: gateways run without it. */
export async function loadBench(): Promise<BenchModule> {
  const module = (await import('@sheaf/bench').catch((error: unknown) => {
    throw new UserError('BENCH_UNKNOWN', `the experiments cannot be loaded: ${errorMessage(error)}`, { hint: 'install @sheaf/bench, or run `npm run setup` in the repository', cause: error });
  })) as Partial<BenchModule>;
  if (!module.runBench) throw new UserError('BENCH_UNKNOWN', 'this build of @sheaf/bench has no experiments', { hint: 'run `npm run setup` in the repository' });
  return module as BenchModule;
}

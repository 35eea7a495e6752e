import type { Argv } from 'yargs';
import type { World } from './world.js';

/** One command of `sheaf`: what it takes, and what it does. */
export interface Command<Options> {
  /** Name and positional arguments in yargs' notation. */
  usage: string;
  summary: string;
  options(yargs: Argv): Argv<Options>;
  /** Resolves with the exit code. @throws UserError */
  run(options: Options, world: World): Promise<number>;
}

import type { Argv } from 'yargs';
import type { World } from './world.js';

/** The part of a parser that says what its arguments become. */
export interface Parsed<Options> {
  readonly argv: Options | Promise<Options>;
}

/** Adds a command to those of the program. */
export type AddCommand = <Options>(command: Command<Options>) => void;

/** One command of `sheaf`: what it takes, and what it does. */
export interface Command<Options> {
  /** Name and positional arguments in yargs' notation. */
  usage: string;
  summary: string;
  /** Declares the options. What yargs makes of them, in camel case as well, is what `run` gets. */
  options(yargs: Argv): Parsed<Options>;
  /** Resolves with the exit code. @throws UserError */
  run(options: Options, world: World): Promise<number>;
}

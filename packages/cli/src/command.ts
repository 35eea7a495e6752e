import type { Argv } from 'yargs';
import type { World } from './world.js';

/** The part of a parser that has the type of its parsed arguments */
export interface Parsed<Options> {
  readonly argv: Options | Promise<Options>;
}

/** Adds a command to the program. */
export type AddCommand = <Options>(command: Command<Options>) => void;

/** One command of `sheaf`: its arguments, and its work */
export interface Command<Options> {
  /** Name and positional arguments in yargs' notation. */
  usage: string;
  summary: string;
  /** Declares the options. `run` gets what yargs makes of them, with names in camel case as well. */
  options(yargs: Argv): Parsed<Options>;
  /** Runs the command. Resolves with the exit code. @throws UserError */
  run(options: Options, world: World): Promise<number>;
}

import { exitCodes, UserError } from '@sheaf/gateway/client';
import { write, type World } from './world.js';

/** Prints an error: a user's error with place, cause and fix; our own fault with its stack. Returns the exit code. */
export async function reportError(error: unknown, world: World): Promise<number> {
  if (error instanceof UserError) {
    await write(world.stderr, `${error.render()}\n`);
    return error.exitCode;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  await write(
    world.stderr,
    `error[INTERNAL]: this is a fault of Sheaf\n${stack}\n  hint: please report it together with the lines above\n`,
  );
  return exitCodes.internal;
}

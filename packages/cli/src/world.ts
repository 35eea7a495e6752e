import type { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

/** Everything the command line reads and writes, as a value: tests bring their own. */
export interface World {
  /** Arguments after the program's name. */
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Directory that relative paths are taken from. */
  cwd: string;
  /** URLs of the files that optional packages are looked up from, the first one that has them first. */
  packagePlaces: readonly string[];
  stdout: Writable;
  stderr: Writable;
  /** Calls `listener` for every SIGINT and SIGTERM; the result stops that. */
  onSignal(listener: (signal: 'SIGINT' | 'SIGTERM') => void): () => void;
  /** From now on the process goes on when its output cannot be written: a server outlives its terminal. */
  outliveOutput(): void;
  /** Ends the process at once. */
  exit(code: number): void;
}

export function processWorld(): World {
  // `sheaf schema | head` closes the pipe early: that is no error.
  let onError = (error: NodeJS.ErrnoException): void => process.exit(error.code === 'EPIPE' ? 0 : 1);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => onError(error));
  // Whoever cannot be told cannot be told this either.
  process.stderr.on('error', () => undefined);
  return {
    args: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    // Beside this package, and beside the program that was called, which may be a link to this one: with a store that several
    // projects share, those are different places. Never in the working directory: who wrote that may be anybody.
    packagePlaces: [import.meta.url, ...process.argv.slice(1, 2).map((program) => pathToFileURL(program).href)],
    stdout: process.stdout,
    stderr: process.stderr,
    onSignal(listener) {
      process.on('SIGINT', listener).on('SIGTERM', listener);
      return () => process.off('SIGINT', listener).off('SIGTERM', listener);
    },
    outliveOutput() {
      onError = () => undefined;
    },
    exit: (code) => process.exit(code),
  };
}

/** Writes a line that may be lost: a server serves on when nobody can read it any more. */
export async function printNotice(stream: Writable, line: string): Promise<void> {
  await printLine(stream, line).catch(() => undefined);
}

/** Writes a line; waits while the reader is slow. */
export async function printLine(stream: Writable, line: string): Promise<void> {
  await write(stream, `${line}\n`);
}

export async function write(stream: Writable, data: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve, reject) => stream.write(data, (error) => (error ? reject(error) : resolve())));
}

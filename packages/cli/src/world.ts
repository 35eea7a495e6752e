import type { Writable } from 'node:stream';

/** Everything the command line reads and writes, as a value: tests bring their own. */
export interface World {
  /** Arguments after the program's name. */
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Directory that relative paths are taken from. */
  cwd: string;
  stdout: Writable;
  stderr: Writable;
  /** Calls `listener` for every SIGINT and SIGTERM; the result stops that. */
  onSignal(listener: (signal: 'SIGINT' | 'SIGTERM') => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
}

export function processWorld(): World {
  return {
    args: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    stdout: process.stdout,
    stderr: process.stderr,
    onSignal(listener) {
      process.on('SIGINT', listener).on('SIGTERM', listener);
      return () => process.off('SIGINT', listener).off('SIGTERM', listener);
    },
    exit: (code) => process.exit(code),
  };
}

/** Writes a line; waits while the reader is slow. */
export async function printLine(stream: Writable, line: string): Promise<void> {
  await write(stream, `${line}\n`);
}

export async function write(stream: Writable, data: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve, reject) => stream.write(data, (error) => (error ? reject(error) : resolve())));
}

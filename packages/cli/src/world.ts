import { closeSync, openSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { passedVariables, successorVariable, type PassedVariables } from '@sheaf/gateway/client';

/** Everything that the command line reads and writes, as a value, so that tests can replace it */
export interface World {
  /** Arguments after the program's name */
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Directory that relative paths start from */
  cwd: string;
  /** URLs of files to look up optional packages from; the first one that has a package wins */
  packagePlaces: readonly string[];
  stdout: Writable;
  stderr: Writable;
  /** Calls `listener` for every SIGINT and SIGTERM. Returns a function that stops this. */
  onSignal(listener: (signal: 'SIGINT' | 'SIGTERM') => void): () => void;
  /**
   * Calls `listener` for every SIGHUP, but for the one that says that the terminal is gone: that one counts as SIGTERM. Returns a
   * function that stops this.
   */
  onHangUp(listener: () => void): () => void;
  /** Calls `listener` for every SIGUSR2. Returns a function that stops this. */
  onUpgrade(listener: () => void): () => void;
  /** What a service manager says about descriptors that it passed to this process */
  readonly passed: PassedVariables;
  /** Whether this process takes over from the one that started it */
  readonly succeeds: boolean;
  /** How to start this process once more, with the program that is on the disk then */
  readonly again: { file: string; args: readonly string[] };
  /** Lets the process continue when its output cannot be written, since a server outlives its terminal. */
  outliveOutput(): void;
  /** Ends the process at once. */
  exit(code: number): void;
}

export function processWorld(): World {
  const succeeds = process.env[successorVariable] !== undefined;
  const passed = Object.fromEntries(passedVariables.map((name) => [name, process.env[name]]));
  // Processes that this one starts take over nothing.
  for (const name of [successorVariable, ...passedVariables]) delete process.env[name];
  // `sheaf schema | head` closes the pipe early, which is no error.
  let onError = (error: NodeJS.ErrnoException): void => process.exit(error.code === 'EPIPE' ? 0 : 1);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => onError(error));
  // There is no stream left to report this error on.
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
    onHangUp(listener) {
      const had = hasTerminal();
      const onHangUp = (): void => {
        if (had && !hasTerminal()) process.emit('SIGTERM', 'SIGTERM');
        else listener();
      };
      process.on('SIGHUP', onHangUp);
      return () => process.off('SIGHUP', onHangUp);
    },
    onUpgrade(listener) {
      process.on('SIGUSR2', listener);
      return () => process.off('SIGUSR2', listener);
    },
    passed,
    succeeds,
    again: { file: process.execPath, args: [...process.execArgv, ...process.argv.slice(1)] },
    outliveOutput() {
      onError = () => undefined;
    },
    exit: (code) => process.exit(code),
  };
}

/** Whether the process has a controlling terminal. It loses the one that is closed. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Writes a line that may be lost, since a server continues when nobody can read its output any more. */
export async function printNotice(stream: Writable, line: string): Promise<void> {
  await printLine(stream, line).catch(() => undefined);
}

/** Writes a line, and waits while the reader is slow. */
export async function printLine(stream: Writable, line: string): Promise<void> {
  await write(stream, `${line}\n`);
}

export async function write(stream: Writable, data: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve, reject) => stream.write(data, (error) => (error ? reject(error) : resolve())));
}

import { spawn } from 'node:child_process';
import { UserError } from '@sheaf/gateway';

export interface ProgramOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Text for its standard input, which is empty by default */
  input?: string;
}

/**
 * Runs a program to its end, and returns its standard output. Its standard error goes to ours.
 * @throws UserError BENCH_FAILED when it cannot be started, or ends with another code than 0
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<string> {
  const { output, failed } = await runToEnd(command, args, options);
  if (failed) throw failed;
  return output;
}

export interface Ended {
  /** Standard output */
  output: string;
  /** BENCH_FAILED when it ended with another code than 0 */
  failed: UserError | undefined;
}

/**
 * Runs a program whose output counts even if it fails. Its standard error goes to ours.
 * @throws UserError BENCH_FAILED when it cannot be started
 */
export async function runToEnd(
  command: string,
  args: readonly string[],
  { input = '', ...options }: ProgramOptions = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
    // Ignores the error: a program that ends before it read everything has reported why.
    child.stdin.on('error', () => undefined).end(input);
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.once('error', (error) => reject(failure(command, args, error.message)));
    child.once('close', (code, signal) => {
      const failed = code === 0 ? undefined : failure(command, args, `ended with ${signal ?? String(code)}`);
      resolve({ output: Buffer.concat(parts).toString(), failed });
    });
  });
}

/** Returns the output of a command; undefined when it does not exist or fails. */
export async function capture(command: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.on('data', (part: Buffer) => (text += part.toString()));
    child.once('error', () => resolve(undefined));
    child.once('close', (code) => resolve(code === 0 ? text : undefined));
  });
}

function failure(command: string, args: readonly string[], why: string): UserError {
  return new UserError('BENCH_FAILED', `${command}: ${why}`, { hint: `try it alone: ${[command, ...args].join(' ')}` });
}

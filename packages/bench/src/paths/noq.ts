import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { runProgram } from '../process/run_program.js';
import { interopDirectory } from '../process/workspace.js';

/** Builds noq-interop, which takes minutes if the set-up has not done so. Returns its path. */
export async function buildNoq(): Promise<string> {
  const target = join(interopDirectory, 'target');
  await runProgram('cargo', ['build', '--release', '--locked', '--quiet', '--package', 'noq-interop'], {
    cwd: interopDirectory,
    env: { ...process.env, CARGO_TARGET_DIR: target },
  });
  return join(target, 'release', 'noq-interop');
}

/** Returns the version of noq, which its lock file has. */
export async function noqVersion(): Promise<string> {
  const lock = await readFile(join(interopDirectory, 'Cargo.lock'), 'utf8');
  return /name = "noq"\nversion = "([^"]+)"/.exec(lock)?.[1] ?? 'unknown';
}

/** A running noq-interop server */
export interface NoqProcess {
  port: number;
  stop(): Promise<void>;
}

/** Starts noq's server on a free port of loopback. It answers /BYTES. @throws UserError */
export async function startNoq(program: string): Promise<NoqProcess> {
  const child = spawn(program, ['server', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) {
    const { port } = z.object({ port: z.number() }).parse(JSON.parse(line));
    child.stdout.resume();
    return {
      port,
      async stop() {
        child.kill('SIGTERM');
        await closed;
      },
    };
  }
  throw new UserError('BENCH_FAILED', 'noq ended before it served', { hint: 'its message is above' });
}

const downloadedSchema = z.object({
  event: z.literal('downloaded'),
  bytes: z.number(),
  sha256: z.string(),
  seconds: z.number().positive(),
});
export type Download = Pick<z.output<typeof downloadedSchema>, 'bytes' | 'sha256' | 'seconds'>;

/** Runs one download by noq's client, with further paths from the addresses `locals`. @throws UserError */
export async function downloadWithNoq(
  program: string,
  port: number,
  target: string,
  locals: readonly string[],
): Promise<Download> {
  const steps = [...locals.flatMap((local) => ['open', local]), 'get', target];
  return runDownload(program, ['client', `127.0.0.1:${port}`, ...steps]);
}

/** Runs a client's program, and returns its report of the download. @throws UserError */
export async function runDownload(program: string, words: string[]): Promise<Download> {
  const output = await runProgram(program, words);
  const found = output.split('\n').find((line) => line.includes('"downloaded"'));
  if (found === undefined) throw new UserError('BENCH_FAILED', `${program} ${words.join(' ')} downloaded nothing`);
  return downloadedSchema.parse(JSON.parse(found));
}

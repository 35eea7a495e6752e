import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export { freePort } from '@sheaf/gateway/client';

export const program = fileURLToPath(new URL('../../bin/sheaf.js', import.meta.url));

export interface RunningProcess {
  child: ChildProcess;
  out(): string;
  err(): string;
  exit: Promise<number | null>;
}

/** `sheaf` with these arguments, killed when the test is over; `nodeArgs` are Node's own, and `file` is what Node runs. */
export function start(...launched: Parameters<typeof launch>): RunningProcess {
  const running = launch(...launched);
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

/** As `start`, but the caller kills it. */
export function launch(
  args: readonly string[],
  cwd: string,
  nodeArgs: readonly string[] = [],
  file = program,
): RunningProcess {
  return launchCommand(process.execPath, [...nodeArgs, file, ...args], cwd);
}

/** Any program, which the caller kills */
export function launchCommand(command: string, args: readonly string[], cwd: string): RunningProcess {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text.err += chunk.toString()));
  return {
    child,
    out: () => text.out,
    err: () => text.err,
    exit: once(child, 'close').then(([code]) => code as number | null),
  };
}

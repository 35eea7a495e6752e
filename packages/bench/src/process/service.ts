import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '@sheaf/gateway';

/** Resolves with the first output of a process, which tells that it serves. @throws UserError when it ends before */
export async function firstOutput(child: ChildProcess, name: string): Promise<string> {
  const ended = once(child, 'close').then(() => {
    throw new UserError('BENCH_FAILED', `${name} ended before it served`, { hint: 'its message is above' });
  });
  ended.catch(() => undefined);
  if (!child.stdout) throw new Error(`the output of ${name} is not read`);
  const [output] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  return output.toString();
}

/** Waits until a port is taken, for programs without output. @throws UserError */
export async function untilListening(child: ChildProcess, name: string, port: number): Promise<void> {
  for (let attempt = 0; attempt < 150; attempt += 1) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new UserError('BENCH_FAILED', `${name} ended before it served`, { hint: 'its message is above' });
    if (await isTaken(port)) return;
    await sleep(100);
  }
  await stop(child);
  throw new UserError('BENCH_FAILED', `${name} did not listen on port ${port} within 15 s`);
}

/** Stops a process with SIGTERM, and with SIGKILL if it does not end within 15 s. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await closed;
  clearTimeout(timer);
}

async function isTaken(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(true));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(false)));
  });
}

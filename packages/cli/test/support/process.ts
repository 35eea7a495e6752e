import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once, type EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const program = fileURLToPath(new URL('../../bin/sheaf.js', import.meta.url));

export interface RunningProcess {
  child: ChildProcess;
  out(): string;
  err(): string;
  exit: Promise<number | null>;
}

/** `sheaf` with these arguments, killed when the test is over; `nodeArgs` are Node's own. */
export function start(args: readonly string[], cwd: string, nodeArgs: readonly string[] = []): RunningProcess {
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text.err += chunk.toString()));
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, out: () => text.out, err: () => text.err, exit: once(child, 'close').then(([code]) => code as number | null) };
}

/** A port that is free, of those that systems give to nobody who does not ask for them: it stays so until a node starts late. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if ((await canListen(createServer().listen(port, '127.0.0.1'))) && (await canListen(createSocket('udp4').bind(port, '127.0.0.1')))) return port;
  }
}

async function canListen(server: EventEmitter & { close(): unknown }): Promise<boolean> {
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!listens) return false;
  const closed = once(server, 'close');
  server.close();
  await closed;
  return true;
}

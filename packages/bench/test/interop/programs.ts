import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '..', '..', '..', '..');
const scripts = join(root, 'packages', 'bench', 'interop');
const python = join(root, '.sheaf', 'interop', 'bin', 'python');
export const sheaf = join(root, 'node_modules', '.bin', 'sheaf');

/** A program that runs until the test ends it. */
export interface RunningProgram {
  /** The first line that matched. */
  line: string;
  stop(): Promise<number | null>;
}

/** Starts a program and waits for a line of its output. */
export async function startProgram(command: string, args: readonly string[], ready: RegExp): Promise<RunningProgram> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const errors: Buffer[] = [];
  child.stderr.on('data', (part: Buffer) => errors.push(part));
  for await (const line of createInterface({ input: child.stdout })) {
    if (ready.test(line)) {
      child.stdout.resume();
      return { line, stop: () => stop(child) };
    }
  }
  throw new Error(`${command} ended before it was ready: ${Buffer.concat(errors).toString()}`);
}

async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
  return child.exitCode;
}

/** The JSON that aioquic's client prints. */
export async function aioquicClient(
  mode: 'http3' | 'hq' | 'webtransport',
  port: number,
  path: string,
): Promise<Record<string, unknown>> {
  return json(requirePython(), [join(scripts, 'aioquic_client.py'), mode, '127.0.0.1', String(port), path]);
}

/** How one session of aioquic's client went. */
export interface EndedSession {
  streams: 'end' | 'reset' | 'stop' | 'open';
  ending: 'session' | 'connection' | 'silence';
  status: number;
  /** Capsules of the server in hexadecimal. */
  said: string;
}

/** Opens a session for each way in which streams, sessions and connections can end. */
export async function aioquicSessions(port: number, path: string, rounds = 1): Promise<EndedSession[]> {
  return (await json(requirePython(), [
    join(scripts, 'aioquic_sessions.py'),
    '127.0.0.1',
    String(port),
    path,
    String(rounds),
  ])) as unknown as EndedSession[];
}

/** Starts aioquic's server; returns its port with it. */
export async function aioquicServer(
  certificate: string,
  key: string,
  options: readonly string[] = [],
): Promise<RunningProgram & { port: number }> {
  const server = await startProgram(
    requirePython(),
    [join(scripts, 'aioquic_server.py'), certificate, key, ...options],
    /^ready \d+$/,
  );
  return { ...server, port: Number(server.line.split(' ')[1]) };
}

export async function json(command: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 1 << 24 });
  return JSON.parse(stdout) as Record<string, unknown>;
}

function requirePython(): string {
  if (!existsSync(python)) throw new Error(`${python} is missing; run \`npm run setup\``);
  return python;
}

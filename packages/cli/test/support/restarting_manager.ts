import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { program } from './process.js';

interface ManagerEvent {
  pid?: number;
  ended?: boolean;
  text?: string;
  kept?: Record<string, number>;
  opened?: number[];
}

/** A service whose manager keeps descriptors for it. Both end with the test. */
export interface ManagedService {
  /** Starts the service with what is kept. Resolves with its process id when it is ready. */
  start(): Promise<number>;
  /** Starts the service, and resolves when its process has ended. */
  startInVain(): Promise<void>;
  /** Ends the process, and resolves when the manager knows. */
  kill(pid: number, signal?: 'SIGTERM'): Promise<void>;
  /** Inodes of what is kept, by name, as of the latest message of the service */
  kept(): Record<string, number>;
  /** Inodes of the sockets of the unit */
  opened(): Promise<number[]>;
  /** Messages of the service about its state */
  messages(): string[];
  err(): string;
}

/** `sheaf` with these arguments as a service; `socketUnit` is the file of a unit whose sockets it gets. */
export async function managedService(
  args: readonly string[],
  cwd: string,
  socketUnit?: string,
): Promise<ManagedService> {
  const manager = fileURLToPath(new URL('restarting_manager.py', import.meta.url));
  const command = [process.execPath, program, ...args];
  const child = spawn('/usr/bin/python3', [manager, `@sheaf-test-${randomUUID()}`, socketUnit ?? '', ...command], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGTERM'));
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text.err += chunk.toString()));
  const events = (): ManagerEvent[] =>
    text.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ManagerEvent);
  const messages = (): string[] => events().flatMap((event) => event.text ?? []);
  const readies = (): number => messages().filter((message) => message.startsWith('READY=1\nSTATUS')).length;
  const ends = (): number => events().filter(({ ended }) => ended).length;
  return {
    async startInVain() {
      const before = ends();
      child.stdin.write('start\n');
      await expect.poll(ends, { timeout: 30_000 }).toBe(before + 1);
    },
    async start() {
      const before = readies();
      child.stdin.write('start\n');
      await expect.poll(readies, { timeout: 30_000 }).toBe(before + 1);
      return events().findLast(({ pid }) => pid !== undefined)!.pid!;
    },
    async kill(pid, signal?: 'SIGTERM') {
      const before = ends();
      process.kill(pid, signal ?? 'SIGKILL');
      await expect.poll(ends).toBe(before + 1);
    },
    kept: () => events().findLast(({ kept }) => kept)?.kept ?? {},
    async opened() {
      await expect.poll(() => events().length).toBeGreaterThan(0);
      return events()[0]!.opened!;
    },
    messages,
    err: () => text.err,
  };
}

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';

/** Messages that a manager of services got at a socket, in their order; those with sockets to keep are left out. */
export interface ManagerSocket {
  messages(): string[];
}

/** Binds a socket as `NOTIFY_SOCKET` names it. It is closed with the test. */
export async function bindManagerSocket(name: string): Promise<ManagerSocket> {
  const program = fileURLToPath(new URL('manager_socket.py', import.meta.url));
  const child = spawn('/usr/bin/python3', [program, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const lines = (): string[] => text.split('\n').slice(0, -1);
  await expect.poll(() => lines()[0]).toBe('bound');
  return {
    messages: () =>
      lines()
        .slice(1)
        .map((line) => JSON.parse(line) as string)
        .filter((message) => !message.startsWith('FDSTORE=')),
  };
}

import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { freePort, start, type RunningProcess } from './support/process.js';
import { temporaryDirectory } from './support/world.js';

interface LoggingGateway {
  running: RunningProcess;
  /** So many requests, each of which takes a line of 8 KB in the log. */
  ask(requests: number): Promise<void>;
  dropped(): Promise<number>;
}

async function startWith(log: (directory: string) => string): Promise<LoggingGateway> {
  const [directory, port, http, admin] = [
    await temporaryDirectory(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'index.html'), 'hello');
  await writeFile(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\nhttp: 127.0.0.1:${http}\nadmin: 127.0.0.1:${admin}\n${log(directory)}routes: [{ files: ./site }]\n`,
  );
  const running = start(['up', 'sheaf.yaml'], directory);
  await vi.waitFor(() => expect(running.out() + running.err()).toMatch(/ready|error\[/), 30_000);
  return {
    running,
    ask: async (requests) => {
      for (let count = 0; count < requests; count += 1) {
        const response = await fetch(`http://127.0.0.1:${http}/`, { headers: { 'user-agent': 'a'.repeat(8_000) } });
        expect(await response.text()).toBe('hello');
      }
    },
    dropped: async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
      return Number(/^sheaf_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
    },
  };
}

async function stop({ running }: LoggingGateway): Promise<number | null> {
  running.child.kill('SIGTERM');
  return running.exit;
}

/** Reads what comes until the text is in it. */
async function readUntil(fifo: number, text: string): Promise<string> {
  let read = '';
  await vi.waitFor(
    () => {
      for (let part = readPart(fifo); part !== ''; part = readPart(fifo)) read += part;
      expect(read).toContain(text);
    },
    { timeout: 30_000, interval: 20 },
  );
  return read;
}

/** Nothing when there is nothing to be read now. */
function readPart(fifo: number): string {
  const buffer = Buffer.alloc(65_536);
  try {
    return buffer.toString('utf8', 0, readSync(fifo, buffer));
  } catch (error) {
    if ((error as { code?: string }).code === 'EAGAIN') return '';
    throw error;
  }
}

describe('a gateway whose log cannot be written', () => {
  it('serves on, counts what is lost, and ends in order', async () => {
    const gateway = await startWith(() => 'log: { file: /dev/full }\n');
    await gateway.ask(200);
    expect(await gateway.dropped()).toBeGreaterThan(0);
    expect(await stop(gateway)).toBe(0);
  });

  it('serves on when its output is closed', async () => {
    const gateway = await startWith(() => '');
    gateway.running.child.stdout?.destroy();
    gateway.running.child.stderr?.destroy();
    await gateway.ask(200);
    expect(await gateway.dropped()).toBeGreaterThan(0);
    expect(await stop(gateway)).toBe(0);
  });

  it('writes again when it can, and says how much is missing', async () => {
    let fifo = '';
    const openReader = (): number => openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    let reader = -1;
    const gateway = await startWith((directory) => {
      fifo = join(directory, 'log');
      execFileSync('mkfifo', [fifo]);
      reader = openReader();
      return `log: { file: ${JSON.stringify(fifo)} }\n`;
    });
    await readUntil(reader, 'serving');
    closeSync(reader);
    await gateway.ask(200);
    const lost = await gateway.dropped();
    expect(lost).toBeGreaterThan(0);
    reader = openReader();
    const log = await readUntil(reader, 'are missing');
    expect(log).toContain(`"lines":${lost}`);
    expect(await stop(gateway)).toBe(0);
    closeSync(reader);
  });

  it('does not start when it could never be written', async () => {
    const { running } = await startWith((directory) => `log: { file: ${JSON.stringify(join(directory, 'site'))} }\n`);
    expect(await running.exit).not.toBe(0);
    expect(running.err()).toContain('error[FILE_UNWRITABLE]');
  });
});

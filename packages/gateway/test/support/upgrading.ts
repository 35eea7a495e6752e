import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, vi } from 'vitest';
import type { GatewayStatus } from '../../src/observability/status.js';
import type { UpgradeOutcome } from '../../src/observability/upgrade_report.js';
import { freePort } from '../../src/values/free_port.js';
import { temporaryDirectory } from './temporary_directory.js';

const program = fileURLToPath(new URL('upgradable.mjs', import.meta.url));

export interface Upgrading {
  port: number;
  directory: string;
  /** Resolves with the exit code of the first process. */
  exit: Promise<number | null>;
  /** Writes the configuration file. */
  write(yaml: string): Promise<void>;
  upgrade(): Promise<UpgradeOutcome>;
  status(): Promise<GatewayStatus>;
}

export interface UpgradingSite {
  /** What follows the addresses in the configuration */
  yaml: string;
  files?: Record<string, string>;
  /** Milliseconds for a process that takes over to get ready */
  timeoutMs?: number;
  /** Code that runs in place of the process that takes over */
  successor?: string;
}

/** A process with the node of a configuration file, and those that take over from it; all end with the test. */
export async function startUpgrading({
  yaml,
  files = {},
  timeoutMs = 30_000,
  successor,
}: UpgradingSite): Promise<Upgrading> {
  const [directory, port, admin] = [await temporaryDirectory(), await freePort(), await freePort()];
  const file = join(directory, 'sheaf.yaml');
  const write = (text: string): Promise<void> =>
    writeFile(file, `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\n${text}`);
  for (const [name, content] of Object.entries({
    ...files,
    ...(successor !== undefined && { 'successor.mjs': successor }),
  })) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  await write(yaml);
  const args = [
    program,
    file,
    String(timeoutMs),
    ...(successor === undefined ? [] : [join(directory, 'successor.mjs')]),
  ];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  const pids = new Set([child.pid!]);
  onTestFinished(() => pids.forEach(end));
  const ask = async (path: string, method = 'GET'): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${admin}${path}`, {
      method,
      headers: { 'sheaf-admin': '1', connection: 'close' },
    });
    return response.json();
  };
  const status = (): Promise<GatewayStatus> => ask('/status') as Promise<GatewayStatus>;
  await vi.waitFor(async () => expect((await status()).state).toBe('serving'), 30_000);
  return {
    port,
    directory,
    exit: once(child, 'exit').then(([code]) => code as number | null),
    write,
    upgrade: async () => {
      const outcome = (await ask('/upgrade', 'POST')) as UpgradeOutcome;
      if (outcome.accepted) pids.add(outcome.after.pid);
      return outcome;
    },
    status,
  };
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

/** Bytes of memory that a process has */
export async function residentBytes(pid: number): Promise<number> {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

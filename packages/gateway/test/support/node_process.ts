import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, vi } from 'vitest';
import type { ReloadOutcome } from '../../src/observability/configuration_report.js';
import type { GatewayStatus, NodeStatus } from '../../src/observability/status.js';
import type { UpgradeOutcome } from '../../src/observability/upgrade_report.js';

/** Makes what is left behind show: V8 would let heaps grow for minutes before it collects garbage. */
const heapLimit = '--max-old-space-size=64';

/** Maximum of characters of what a process writes about its faults */
const mostTold = 4_096;

const program = fileURLToPath(new URL('upgradable.mjs', import.meta.url));

export interface NodeProcess<Status = GatewayStatus> {
  /** Resolves with the exit code of the first process. */
  exit: Promise<number | null>;
  reload(): Promise<ReloadOutcome>;
  upgrade(): Promise<UpgradeOutcome>;
  /** What the process that serves says */
  status(): Promise<Status>;
}

export interface StartedProcess {
  file: string;
  /** Port for operators in the configuration */
  admin: number;
  /** Name of the node that runs; default: all of the file */
  name?: string;
  /** Milliseconds for a process that takes over to get ready */
  timeoutMs?: number | undefined;
  /** File that runs in place of the process that takes over */
  successor?: string;
}

/** A process with nodes of a configuration file, and those that take over from it; all end with the test. */
export async function startProcess<Status extends NodeStatus = GatewayStatus>({
  file,
  admin,
  name = 'all',
  timeoutMs = 120_000,
  successor,
}: StartedProcess): Promise<NodeProcess<Status>> {
  const args = [heapLimit, program, file, String(timeoutMs), name, ...(successor === undefined ? [] : [successor])];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  child.stderr.on('data', (text) => (told = `${told}${text}`.slice(-mostTold)));
  const pids = new Set([child.pid!]);
  onTestFinished(() => pids.forEach(end));
  const ask = async (path: string, method = 'GET'): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${admin}${path}`, {
      method,
      headers: { 'sheaf-admin': '1', connection: 'close' },
    });
    return response.json();
  };
  const status = (): Promise<Status> => ask('/status') as Promise<Status>;
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  const serves = vi.waitFor(async () => expect((await status()).state).toBe('serving'), 120_000);
  const ended = exit.then((code) => Promise.reject(new Error(`the process ended with ${code}: ${told}`)));
  await Promise.race([serves, ended]);
  ended.catch(() => undefined);
  return {
    exit,
    reload: () => ask('/reload', 'POST') as Promise<ReloadOutcome>,
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

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { runToEnd } from '../../src/process/run_program.js';
import { cargoForNoq, whatIsMissing } from '../../src/process/toolchain.js';

/** What the program prints about a path. */
export interface NoqPath {
  id: number;
  local: string | null;
  remote: string | null;
  status: 'available' | 'backup' | null;
  bytesSent: number;
  bytesReceived: number;
  framesSent: Record<string, number>;
  framesReceived: Record<string, number>;
}

/** A line of its output. */
export interface NoqEvent {
  event: string;
  id?: number;
  path?: NoqPath;
  paths?: NoqPath[];
  [fact: string]: unknown;
}

/** Why noq cannot be built here; undefined when it can. */
export const whyNoNoq = (): Promise<string | undefined> => whatIsMissing([cargoForNoq]);

/**
 * Time in seconds after which something that should happen counts as failed. A machine that is busy with other things needs
 * much of it: downloads that need 50 ms alone have taken 8 s.
 */
export const patience = 240;

/** Runs the client's steps; returns what it printed. */
export async function noqClient(program: string, port: number, steps: readonly string[]): Promise<NoqEvent[]> {
  const words = [String(patience), program, 'client', `127.0.0.1:${port}`, ...steps];
  const { output, failed } = await runToEnd('timeout', words);
  if (failed) throw new Error(`${failed.message}, and printed before:\n${output}`, { cause: failed });
  return output.trim().split('\n').map(parse);
}

export interface NoqServer {
  port: number;
  /** The next line of this kind, or the one that came already. */
  event(name: string): Promise<NoqEvent>;
  /** All lines so far. */
  readonly events: readonly NoqEvent[];
  stop(): Promise<void>;
}

/** Starts the server on a free port of every IPv4 address. */
export async function noqServer(program: string): Promise<NoqServer> {
  const child = spawn(program, ['server', '0.0.0.0:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const events: NoqEvent[] = [];
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const look of waiting) look();
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    events.push(parse(line));
    wake();
  });
  const event = (name: string): Promise<NoqEvent> =>
    new Promise((resolve, reject) => {
      const fail = (why: string): void => {
        const lines = events.map((candidate) => JSON.stringify(candidate));
        reject(new Error(`noq-interop ${why} '${name}', after:\n${lines.join('\n')}`));
      };
      const timer = setTimeout(() => fail(`does not come to`), patience * 1_000);
      const look = (): void => {
        const found = events.find((candidate) => candidate.event === name);
        if (found === undefined && child.exitCode === null) return;
        waiting.delete(look);
        clearTimeout(timer);
        if (found) resolve(found);
        else fail('ended without');
      };
      waiting.add(look);
      look();
    });
  void closed.then(wake);
  const { port } = await event('listening');
  return {
    port: Number(port),
    event,
    events,
    async stop() {
      child.kill('SIGTERM');
      await closed;
    },
  };
}

function parse(line: string): NoqEvent {
  return JSON.parse(line) as NoqEvent;
}

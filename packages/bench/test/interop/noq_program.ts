import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { runProgram } from '../../src/process/run_program.js';
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

/** Runs the client's steps; returns what it printed. */
export async function noqClient(program: string, port: number, steps: readonly string[]): Promise<NoqEvent[]> {
  const output = await runProgram('timeout', ['50', program, 'client', `127.0.0.1:${port}`, ...steps]);
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
      const look = (): void => {
        const found = events.find((candidate) => candidate.event === name);
        if (found === undefined && child.exitCode === null) return;
        waiting.delete(look);
        if (found) resolve(found);
        else reject(new Error(`noq-interop ended without '${name}'`));
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

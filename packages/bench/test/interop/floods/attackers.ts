import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { installed } from '../peers/common_program.js';

/** What came of a flood. */
export interface Outcome {
  /** Frames, packets or streams, of all connections. */
  sent: number;
  /** Connections that the gateway left open. */
  open: number;
  /** Error codes with which it closed the others. */
  codes: number[];
  error?: string;
}

/** Clients of aioquic in a process of their own (packages/bench/interop/aioquic_floods.py). */
export interface Attackers {
  flood(name: string, count: number, connections: number): Promise<Outcome>;
  stop(): Promise<void>;
}

export function startAttackers(port: number): Attackers {
  const script = installed('packages', 'bench', 'interop', 'aioquic_floods.py');
  const python = spawn(installed('.sheaf', 'interop', 'bin', 'python'), [script, `127.0.0.1:${port}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
  return {
    async flood(name, count, connections) {
      python.stdin.write(`${name} ${count} ${connections}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the attackers ended');
      return JSON.parse(value) as Outcome;
    },
    async stop() {
      const closed = once(python, 'close');
      python.stdin.end();
      await closed;
    },
  };
}

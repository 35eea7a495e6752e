import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { UserError } from '@sheaf/gateway';
import { interopDirectory } from '../process/workspace.js';

const python = join(interopDirectory, '..', '..', '..', '.sheaf', 'interop', 'bin', 'python');

/** Clients of aioquic in a process of their own. The seed and a client's number determine its behavior. */
export class HostileClients {
  begun = 0;
  done = 0;
  private readonly process: ChildProcess;
  private readonly behaviours = new Map<string, number>();

  /** @throws UserError when aioquic is not installed */
  constructor(
    port: number,
    private readonly seed: number,
  ) {
    if (!existsSync(python))
      throw new UserError('BENCH_FAILED', 'the hostile clients need aioquic, which is not installed', {
        hint: 'run `npm run setup` in the repository',
      });
    this.process = spawn(python, [join(interopDirectory, 'aioquic_hostile.py'), '127.0.0.1', String(port)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.process.stdin?.on('error', () => undefined);
    createInterface({ input: this.process.stdout! }).on('line', (line) =>
      this.onDone(JSON.parse(line) as { behaviour: string }),
    );
  }

  begin(): void {
    this.begun += 1;
    this.process.stdin?.write(`${this.seed * 1_000_000 + this.begun}\n`);
  }

  /** Resolves when all clients have finished. */
  async finished(): Promise<void> {
    if (this.process.exitCode !== null) return;
    const closed = once(this.process, 'close');
    this.process.stdin?.end();
    await closed;
  }

  stop(): void {
    this.process.kill('SIGKILL');
  }

  /** Returns the number of clients of each kind. */
  report(): Record<string, number> {
    return Object.fromEntries([...this.behaviours].sort());
  }

  private onDone({ behaviour }: { behaviour: string }): void {
    this.done += 1;
    this.behaviours.set(behaviour, (this.behaviours.get(behaviour) ?? 0) + 1);
  }
}

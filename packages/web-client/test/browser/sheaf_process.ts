import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../../cli/bin/sheaf.js', import.meta.url));

/** A `sheaf` command that runs until it is stopped. */
export class SheafProcess {
  private process: ChildProcess | undefined;
  private output = '';

  constructor(
    private readonly args: readonly string[],
    private readonly directory: string,
  ) {}

  /** Starts the process; returns the line that says that it is ready. @throws Error with its output. */
  async run(): Promise<string> {
    this.output = '';
    const child = spawn(process.execPath, [COMMAND, ...this.args], {
      cwd: this.directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process = child;
    child.once('exit', (code, signal) => this.keep(`the process ended with ${signal ?? code}\n`));
    child.stderr.on('data', (data: Buffer) => this.keep(data.toString()));
    const lines = createInterface({ input: child.stdout });
    const ready = new Promise<string>((resolve) => {
      lines.on('line', (line) => {
        this.keep(`${line}\n`);
        if (/\bready\b/.test(line)) resolve(line);
      });
    });
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the process ended before it was ready:\n${this.output}`);
    });
    return Promise.race([ready, ended]);
  }

  /** Resolves with what the process has written since its start as soon as this is in it. */
  async told(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.output);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Stands still, as a link that carries nothing any more. */
  freeze(): void {
    this.process?.kill('SIGSTOP');
  }

  /** Ends the process and waits until it has gone. Returns its exit code, null after SIGKILL. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    const child = this.process;
    if (child?.exitCode !== null || child.signalCode !== null) return null;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  // Access logs of a long test are of no use; the end says what went wrong.
  private keep(text: string): void {
    this.output = (this.output + text).slice(-20_000);
  }
}

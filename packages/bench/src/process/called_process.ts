import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { UserError } from '@sheaf/gateway';

interface Answer {
  value?: unknown;
  error?: string;
}

/** Serves calls of the process that started this one. Ends with that process, which also handles Ctrl-C. */
export function serveCalls<Call>(answer: (call: Call) => unknown): void {
  process.on('SIGINT', () => undefined);
  process.once('disconnect', () => process.exit(0));
  process.on('message', (call: Call) => {
    Promise.resolve()
      .then(() => answer(call))
      .then(
        (value) => process.send?.({ value } satisfies Answer),
        (error: unknown) =>
          process.send?.({
            error: error instanceof Error ? (error.stack ?? error.message) : String(error),
          } satisfies Answer),
      );
  });
}

/** A process that answers calls, one at a time */
export class CalledProcess<Call extends object> {
  private readonly child: ChildProcess;

  /**
   * @param module program of the process, which serves calls
   * @param enter what starts a program elsewhere, such as in a network namespace, and becomes it; default: here
   */
  constructor(
    private readonly name: string,
    module: string,
    enter: readonly string[] = [],
  ) {
    const [execPath, ...execArgv] = [...enter, process.execPath];
    this.child = fork(module, [], { execPath, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  /** Calls the process. @throws UserError when the call fails or the process has ended */
  async call<Value>(call: Call): Promise<Value> {
    const ended = new AbortController();
    try {
      const answered = once(this.child, 'message', { signal: ended.signal });
      const gone = once(this.child, 'exit', { signal: ended.signal }).then((): never => {
        throw new UserError('BENCH_FAILED', `the process of ${this.name} ended`);
      });
      this.child.send(call);
      const [{ value, error }] = (await Promise.race([answered, gone])) as [Answer];
      if (error !== undefined) throw new UserError('BENCH_FAILED', `${this.name}: ${error}`);
      return value as Value;
    } finally {
      ended.abort();
    }
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    if (this.child.connected) this.child.disconnect();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(timer);
  }
}

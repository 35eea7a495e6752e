import { Worker, type Transferable } from 'node:worker_threads';
import type { FromWorker, ToWorker, WorkerCalls, WorkerNotice, WorkerStart } from './messages.js';
import { receiveError } from './sent_error.js';

interface Pending {
  resolve: (returned: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Size in megabytes of the young generation of a thread's heap, with the space that objects are copied to. By default V8 lets
 * it grow to four times as much before it collects garbage, in each thread.
 */
const youngMegabytes = 12;

export interface WorkerThreadOptions {
  /** File of the code */
  entry: URL;
  start: WorkerStart;
  onLog(lines: string): void;
}

/** One run of a worker, from the start of its thread to its end */
export class WorkerThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  /** Resolves with warnings once the worker serves. Rejects with the error by which it ends before. */
  readonly serving: Promise<readonly string[]>;
  /** Resolves with the reason why the thread ended. */
  readonly ended: Promise<Error>;
  #next = 1;
  #reason: Error | undefined;

  constructor({ entry, start, onLog }: WorkerThreadOptions) {
    const worker = new Worker(entry, {
      workerData: start,
      name: `sheaf ${start.name} ${start.index}`,
      resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
    });
    this.#worker = worker;
    this.ended = new Promise((resolve) => {
      worker.on('error', (error) => (this.#reason ??= error));
      worker.once('exit', (code) => {
        const reason = (this.#reason ??= new Error(`the thread ended with ${code}`));
        this.#rejectAll(reason);
        resolve(reason);
      });
    });
    this.serving = new Promise((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (!('news' in message)) this.#settle(message);
        else if (message.news === 'log') onLog(message.lines);
        else if (message.news === 'serving') resolve(message.warnings);
        else reject((this.#reason = receiveError(message.error)));
      });
      void this.ended.then(reject);
    });
    // Who asks for it later still hears of it.
    this.serving.catch(() => undefined);
  }

  /** Rejects when the worker refuses, or ends before it answers. Ports of `given` are in `transferred`. */
  ask<Call extends keyof WorkerCalls>(
    call: Call,
    given: WorkerCalls[Call][0],
    transferred: readonly Transferable[] = [],
  ): Promise<WorkerCalls[Call][1]> {
    if (this.#reason) return Promise.reject(this.#reason);
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      this.#post({ call, id, given }, transferred);
    });
  }

  /** Ports of the notice are in `transferred`. */
  tell(notice: WorkerNotice, transferred: readonly Transferable[] = []): void {
    this.#post(notice, transferred);
  }

  /** Ends the thread at once for this reason, as if it had ended itself. */
  fail(reason: Error): void {
    this.#reason ??= reason;
    this.#rejectAll(this.#reason);
    void this.terminate();
  }

  /** Ends the thread at once. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #rejectAll(reason: Error): void {
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
  }

  #post(message: ToWorker, transferred: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transferred);
  }

  #settle(message: Extract<FromWorker, { id: number }>): void {
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if ('error' in message) pending?.reject(receiveError(message.error));
    else pending?.resolve(message.returned);
  }
}

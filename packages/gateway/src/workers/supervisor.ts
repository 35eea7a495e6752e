import type { Logger } from 'pino';
import { errorMessage, UserError } from '../errors/user_error.js';
import { orLate } from '../values/or_late.js';
import { within } from '../values/within.js';
import { backOffMs, type BackOff } from '../values/back_off.js';
import type { WorkerState } from '../observability/status.js';
import type { WorkerThread } from './worker_thread.js';
import type { WorkerTimes } from './worker_times.js';

/** Pauses before a worker that failed soon after its start is replaced once more */
const pauses: BackOff = { first: 100, longest: 10_000, jitter: true };
/** Time in milliseconds after which a worker counts as good, and its successor starts at once */
const goodMs = 10_000;

export interface SupervisorOptions {
  index: number;
  /** Starts a thread by the configuration in force. */
  open(): WorkerThread;
  /** Runs `start` while nothing else changes the configuration. */
  exclusively(start: () => Promise<void>): Promise<void>;
  /** Called when the thread of a worker that had served has ended. */
  onLost(): void;
  log: Logger;
  times: WorkerTimes;
}

/** Keeps one worker running: replaces its thread when that ends, or no longer answers. */
export class Supervisor {
  readonly index: number;
  readonly #options: SupervisorOptions;
  #state: WorkerState = 'starting';
  #thread: WorkerThread | undefined;
  #since = new Date();
  #restarts = 0;
  #failures = 0;
  #watchdog = 0;
  #reason: string | undefined;
  #retired = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.index = options.index;
  }

  /** The latest thread */
  get thread(): WorkerThread | undefined {
    return this.#thread;
  }

  /** The thread that serves; undefined while there is none */
  get serving(): WorkerThread | undefined {
    return this.#state === 'serving' ? this.#thread : undefined;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** How often a thread was ended because it did not answer */
  get watchdog(): number {
    return this.#watchdog;
  }

  status(): { state: WorkerState; since: string; restarts: number; reason?: string } {
    return {
      state: this.#state,
      since: this.#since.toISOString(),
      restarts: this.#restarts,
      ...(this.#reason !== undefined && { reason: this.#reason }),
    };
  }

  /** Starts the first thread. Resolves with its warnings, or rejects with its error; then others are tried. */
  async start(): Promise<readonly string[]> {
    const thread = this.#open();
    try {
      return await this.#settle(thread);
    } catch (error) {
      this.#replace(error as Error);
      throw error;
    }
  }

  /** Starts no more threads. */
  retire(): void {
    clearTimeout(this.#timer);
    this.#retired = true;
    if (!this.serving) this.#enter('stopped');
  }

  /** Starts no more threads, and ends the one that runs: in order within `drainMs`, then at once. */
  async stop(drainMs: number): Promise<void> {
    clearTimeout(this.#timer);
    const { serving } = this;
    const { log, times } = this.#options;
    this.#state = 'stopped';
    const closed = serving && orLate(serving.ask('close', drainMs), drainMs + times.close, () => new Error('it hangs'));
    await closed?.catch((error: unknown) => {
      log.warn({ worker: this.index, error: errorMessage(error) }, 'a worker did not stop in order');
    });
    if (this.#thread) await within(this.#thread.terminate(), times.close);
  }

  #open(): WorkerThread {
    const thread = this.#options.open();
    this.#thread = thread;
    this.#enter('starting');
    return thread;
  }

  /** Waits until a thread serves, and replaces it when it ends after that. */
  async #settle(thread: WorkerThread): Promise<readonly string[]> {
    const { start } = this.#options.times;
    const late = (): Error => new Error(`the worker did not serve within ${start / 1_000} seconds`);
    const warnings = await orLate(thread.serving, start, late).catch((error: unknown) => {
      thread.fail(error as Error);
      throw error;
    });
    if (this.#isOver()) return [];
    this.#enter('serving');
    const unwatch = this.#watch(thread);
    void thread.ended.then((reason) => {
      unwatch();
      if (this.#isOver()) return;
      this.#options.onLost();
      if (Date.now() - this.#since.getTime() >= goodMs) this.#failures = 0;
      this.#replace(reason);
    });
    return warnings;
  }

  /** Asks a thread whether it answers, and ends it when it does not. Counts questions: the clock goes on while this process sleeps. */
  #watch(thread: WorkerThread): () => void {
    const { beat, misses } = this.#options.times;
    let missed = 0;
    const timer = setInterval(() => {
      if (missed < misses) {
        missed += 1;
        if (missed === 1)
          void thread.ask('answer', undefined).then(
            () => (missed = 0),
            () => undefined,
          );
        return;
      }
      clearInterval(timer);
      // A worker that stops has its own limit.
      if (this.#isOver()) return;
      this.#watchdog += 1;
      thread.fail(new Error(`the worker did not answer for ${(beat * misses) / 1_000} seconds`));
    }, beat).unref();
    return () => clearInterval(timer);
  }

  #replace(reason: Error): void {
    if (this.#isOver()) return;
    const pauseMs = this.#failures === 0 ? 0 : backOffMs(this.#failures - 1, pauses);
    this.#failures += 1;
    this.#reason = reason.message;
    if (this.#retired) return this.#enter('stopped');
    this.#enter('waiting');
    this.#options.log.error(
      {
        worker: this.index,
        pauseMs: Math.round(pauseMs),
        ...(reason instanceof UserError ? { error: reason.message } : { err: reason }),
      },
      'a worker has ended and is replaced',
    );
    this.#timer = setTimeout(() => void this.#restart(), pauseMs).unref();
  }

  async #restart(): Promise<void> {
    this.#restarts += 1;
    await this.#options
      .exclusively(async () => {
        if (!this.#isOver()) await this.#settle(this.#open());
      })
      .catch((error: unknown) => this.#replace(error as Error));
  }

  #enter(state: WorkerState): void {
    this.#state = state;
    this.#since = new Date();
  }

  #isOver(): boolean {
    return this.#state === 'stopped';
  }
}

import type { Logger } from 'pino';
import { errorMessage, UserError } from '../errors/user_error.js';
import { backOffMs, type BackOff } from '../values/back_off.js';
import type { WorkerState } from '../observability/status.js';
import { within } from '../values/within.js';
import { watchPulse } from './pulse.js';
import type { WorkerThread } from './worker_thread.js';

/** Pauses before a worker that failed soon after its start is replaced once more */
const pauses: BackOff = { first: 100, longest: 10_000, jitter: true };
/** Time in milliseconds after which a worker counts as good, and its successor starts at once */
const goodMs = 10_000;

/** Time in milliseconds that a worker has to close everything, beyond the time of its requests to finish */
const graceMs = 5_000;

export interface SupervisorOptions {
  index: number;
  /** Starts a thread by the configuration in force. */
  open(): WorkerThread;
  /** Runs `start` while nothing else changes the configuration. */
  exclusively(start: () => Promise<void>): Promise<void>;
  /** Called when the thread of a worker that had served has ended. */
  onLost(): void;
  log: Logger;
}

/** Keeps one worker running: replaces its thread when that ends. */
export class Supervisor {
  readonly index: number;
  readonly #options: SupervisorOptions;
  #state: WorkerState = 'starting';
  #thread: WorkerThread | undefined;
  #since = new Date();
  #restarts = 0;
  #failures = 0;
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
    this.#state = 'stopped';
    const closed = serving?.ask('close', drainMs).catch((error: unknown) => {
      this.#options.log.warn({ worker: this.index, error: errorMessage(error) }, 'a worker did not stop in order');
    });
    if (closed) await within(closed, drainMs + graceMs);
    await this.#thread?.terminate();
  }

  #open(): WorkerThread {
    const thread = this.#options.open();
    this.#thread = thread;
    this.#enter('starting');
    return thread;
  }

  /** Waits until a thread serves, and replaces it when it ends after that. */
  async #settle(thread: WorkerThread): Promise<readonly string[]> {
    const warnings = await thread.serving;
    if (this.#isOver()) return [];
    this.#enter('serving');
    const unwatch = watchPulse(
      () => thread.ask('beat', undefined),
      () => void thread.terminate(new Error('its event loop was stuck')),
    );
    void thread.ended.then((reason) => {
      unwatch();
      if (this.#isOver()) return;
      this.#options.onLost();
      if (Date.now() - this.#since.getTime() >= goodMs) this.#failures = 0;
      this.#replace(reason);
    });
    return warnings;
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

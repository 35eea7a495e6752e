import { MessageChannel } from 'node:worker_threads';
import type { WorkerCounts } from '@sheaf/native';
import type { Logger } from 'pino';
import type { WorkerStatus } from '../observability/status.js';
import type { Prepared } from '../nodes/life/reload.js';
import { errorMessage, UserError } from '../errors/user_error.js';
import { orLate } from '../values/or_late.js';
import { within } from '../values/within.js';
import { Exclusive } from '../values/exclusive.js';
import type { SentConfiguration, WorkerNotice, WorkerReport } from './messages.js';
import { Supervisor } from './supervisor.js';
import type { WorkerThread } from './worker_thread.js';
import { workerTimes, type WorkerTimes } from './worker_times.js';

/** Maximum wait in milliseconds for what a worker reports; one that is busy is shown as it was before */
const reportMs = 2_000;

export interface WorkerPoolOptions {
  workers: number;
  /** Starts a thread by the configuration in force. */
  open(index: number): WorkerThread;
  log: Logger;
  times?: WorkerTimes;
}

/** The workers of a node: all are told and asked the same. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #times: WorkerTimes;
  readonly #supervisors: readonly Supervisor[];
  readonly #reports = new Map<number, WorkerReport>();
  /** One start of a replaced worker at a time, and none while the configuration changes */
  readonly #changes = new Exclusive();
  #settled: Promise<unknown> = Promise.resolve();
  /** Whether all workers have served at the same time */
  #complete = false;
  /** Receives what a worker had reported last when its thread ended. */
  onLost: (report: WorkerReport) => void = () => undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#times = options.times ?? workerTimes;
    this.#supervisors = Array.from({ length: options.workers }, (_, index) => this.#supervise(index));
  }

  /** Whether a worker serves, and all of them did at a time: clients of one that is replaced wait for its successor. */
  get ready(): boolean {
    this.#complete ||= this.#supervisors.every(({ serving }) => serving);
    return this.#complete && this.serving.length > 0;
  }

  /** How often workers were replaced */
  get restarts(): number {
    return this.#supervisors.reduce((sum, { restarts }) => sum + restarts, 0);
  }

  /** How often workers were ended because they did not answer */
  get watchdog(): number {
    return this.#supervisors.reduce((sum, { watchdog }) => sum + watchdog, 0);
  }

  /** What the workers reported last */
  get reports(): WorkerReport[] {
    return this.#supervisors.flatMap(({ index }) => this.#reports.get(index) ?? []);
  }

  /** Number and thread of each worker that serves */
  get serving(): { index: number; thread: WorkerThread }[] {
    return this.#supervisors.flatMap(({ index, serving }) => (serving ? [{ index, thread: serving }] : []));
  }

  /** `datagrams`: what each worker passed on and took */
  status(datagrams: readonly WorkerCounts[]): WorkerStatus[] {
    return this.#supervisors.map((supervisor): WorkerStatus => {
      const { index: worker } = supervisor;
      const status = supervisor.serving && this.#reports.get(worker)?.status;
      return {
        worker,
        ...supervisor.status(),
        datagrams: datagrams[worker] ?? { passedOn: 0, taken: 0, lost: 0 },
        ...(status && {
          requestsActive: status.requestsActive,
          tcpConnections: status.tcpConnections,
          quicConnections: status.transport?.connectionsOpenGauge ?? 0,
        }),
      };
    });
  }

  /** Starts all workers. Resolves with their warnings as soon as one serves, while others may be tried again. @throws UserError */
  async start(): Promise<string[]> {
    const leave = await this.#changes.enter();
    try {
      const started = await Promise.allSettled(this.#supervisors.map((supervisor) => supervisor.start()));
      const failure = started.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
      if (failure && this.serving.length === 0) throw failure.reason;
      await this.refresh();
      return [...new Set(started.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])))];
    } finally {
      leave();
    }
  }

  /** Asks the workers for reports. */
  async refresh(): Promise<void> {
    await Promise.all(
      this.serving.map(async ({ index, thread }) => {
        const report = thread.ask('report', undefined).then(
          (each) => void this.#reports.set(index, each),
          (error: unknown) => this.#options.log.debug({ worker: index, error: errorMessage(error) }, 'no report'),
        );
        await within(report, reportMs);
      }),
    );
  }

  /** Tells all workers, also those that start. */
  tell(notice: WorkerNotice): void {
    for (const { thread } of this.#supervisors) thread?.tell(notice);
  }

  /** Waits for its turn to change the configuration. Nothing else changes, and no worker starts, until the returned function is called. */
  turn(): Promise<() => void> {
    return this.#changes.enter();
  }

  /** Makes all workers get ready for a configuration. If one refuses, or takes too long, all abandon it. */
  async prepare(sent: (index: number) => SentConfiguration): Promise<Prepared> {
    const threads = this.serving;
    const { change, close } = this.#times;
    const abandon = async (): Promise<void> => {
      await within(Promise.allSettled(threads.map(({ thread }) => thread.ask('abandon', undefined))), close);
    };
    const answers = await Promise.allSettled(
      threads.map(({ index, thread }) =>
        orLate(thread.ask('prepare', sent(index)), change, () => notReady(index, change)),
      ),
    );
    const refusal = answers.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (refusal) {
      await abandon();
      throw refusal.reason;
    }
    return {
      warnings: [...new Set(answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])))],
      // A worker that ends instead has a successor by the new configuration.
      commit: () => {
        this.#settled = Promise.all(threads.map(({ thread }) => this.#commit(thread)));
      },
      abandon,
    };
  }

  /** Resolves once the latest commit has reached all workers. */
  async settled(): Promise<void> {
    await this.#settled;
  }

  /** Replaces no worker any more. */
  retire(): void {
    for (const supervisor of this.#supervisors) supervisor.retire();
  }

  /** Stops all workers: in order within `drainMs`, then at once. */
  async stop(drainMs: number): Promise<void> {
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.stop(drainMs)));
  }

  /** Ends a thread that cannot change to what it was ready for: its successor runs by that. */
  async #commit(thread: WorkerThread): Promise<void> {
    const { change } = this.#times;
    const late = (): Error => new Error('the worker did not change to its new configuration in time');
    await orLate(thread.ask('commit', undefined), change, late).catch((error: unknown) => thread.fail(error as Error));
  }

  /** Gives a new thread and each of the others a port to one another. */
  #link(index: number, thread: WorkerThread): void {
    for (const { index: other, thread: peer } of this.#supervisors) {
      if (other === index || !peer) continue;
      const { port1, port2 } = new MessageChannel();
      thread.tell({ notice: 'peer', worker: other, port: port1 }, [port1]);
      peer.tell({ notice: 'peer', worker: index, port: port2 }, [port2]);
    }
  }

  #supervise(index: number): Supervisor {
    const { open, log } = this.#options;
    return new Supervisor({
      index,
      open: () => {
        const thread = open(index);
        this.#link(index, thread);
        return thread;
      },
      exclusively: (start) => this.#changes.run(start),
      onLost: () => {
        const report = this.#reports.get(index);
        this.#reports.delete(index);
        if (report) this.onLost(report);
      },
      log,
      times: this.#times,
    });
  }
}

function notReady(index: number, ms: number): UserError {
  return new UserError(
    'RELOAD_REFUSED',
    `the worker ${index} was not ready for the configuration within ${ms / 1_000} seconds`,
    {
      hint: 'look for a module or an upstream that is slow to start, and try again',
    },
  );
}

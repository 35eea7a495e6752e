import { notifyServiceManager, type ServiceState } from '@sheaf/native';

/** Time in milliseconds after which a message is sent again that the manager had no room for */
const retryMs = 100;

/**
 * The manager of services that started this process, such as systemd (sd_notify(3)). Does nothing when there is none: the
 * environment has no `NOTIFY_SOCKET`.
 */
export class ServiceManager {
  readonly #socketName: string | undefined;
  readonly #watchdogMs: number | undefined;
  readonly #warn: (warning: string) => void;
  #unsent: ServiceState = {};
  #serving = false;
  #ended = false;
  #retry: NodeJS.Timeout | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(
    env: Readonly<Record<string, string | undefined>>,
    { pid, warn }: { pid: number; warn: (warning: string) => void },
  ) {
    this.#socketName = env['NOTIFY_SOCKET'];
    this.#watchdogMs = watchdogMs(env, pid);
    this.#warn = warn;
  }

  /**
   * Tells that the nodes serve. From now on tells regularly that this process is alive, from the event loop: a loop that hangs
   * tells nothing, and the manager starts the process again. `mainPid`: this process, where it took over from another one
   */
  ready(status: string, mainPid?: number): void {
    this.#serving = true;
    this.#tell({ ready: true, status, ...(mainPid !== undefined && { mainPid }) });
    if (this.#watchdogMs === undefined) return;
    // Half of the time, as sd_watchdog_enabled(3) advises, so that one late message costs nothing.
    this.#watchdog = setInterval(() => this.#tell({ watchdog: true }), this.#watchdogMs / 2);
  }

  /**
   * Tells that the nodes read their configuration again, since this time (`process.hrtime.bigint()`). Nodes that start or drain
   * refuse to, and the manager knows them in that state.
   */
  reloading(since: bigint): void {
    if (this.#serving) this.#tell({ reloadingSince: since });
  }

  /** Tells that the nodes serve, by the new configuration or by the old one. */
  reloaded(): void {
    if (!this.#serving) return;
    const { reloadingSince: _past, ...unsent } = this.#unsent;
    this.#unsent = unsent;
    this.#tell({ ready: true });
  }

  /** Tells that the nodes drain. */
  stopping(status: string): void {
    this.#serving = false;
    this.#tell({ stopping: true, status });
  }

  /** Tells nothing more. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#retry);
    clearInterval(this.#watchdog);
  }

  #tell(state: ServiceState): void {
    if (this.#ended) return;
    clearTimeout(this.#retry);
    const wanted = { ...this.#unsent, ...state };
    const error = notifyServiceManager(this.#socketName, wanted);
    this.#unsent = error === 'EAGAIN' ? wanted : {};
    if (error === 'EAGAIN') this.#retry = setTimeout(() => this.#tell({}), retryMs);
    else if (error !== undefined)
      this.#warn(`warning: the service manager cannot be told the state (${error}); check NOTIFY_SOCKET`);
  }
}

/** Returns the time in which the manager wants a sign of life of this process; undefined when it wants none. */
function watchdogMs(env: Readonly<Record<string, string | undefined>>, pid: number): number | undefined {
  const { WATCHDOG_USEC: microseconds = '', WATCHDOG_PID: wanted = String(pid) } = env;
  return /^[1-9]\d*$/.test(microseconds) && wanted === String(pid) ? Number(microseconds) / 1_000 : undefined;
}

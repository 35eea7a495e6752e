import type { ServerConnection } from '@sheaf/native';
import type { BackendReport } from '../../observability/backend_report.js';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import type { BackendWatch } from './backend_watch.js';

/** Pauses between looks for the process that has replaced the one which listens */
const pauses: BackOff = { first: 100, longest: 3_000, jitter: true };

/**
 * The processes of one backend. The current one gets what is new. Those that it has replaced keep the connections of clients that
 * were handed over to them, and what they have begun.
 */
export class BackendProcesses {
  readonly id: number;
  readonly #open: (onReplaced: () => void) => BackendWatch;
  #current: BackendWatch;
  /** The processes in the order of their starts, those before the current one and the next one among them */
  readonly #all: BackendWatch[];
  /** Number of successive processes that said at once that another one has replaced them */
  #replacedAtOnce = 0;
  #pause: NodeJS.Timeout | undefined;
  /** Number of requests that processes had which are gone */
  #proxied = 0;
  #drains = false;

  /** `open` makes the connections to the process that listens, which `start` opens. */
  constructor(id: number, open: (onReplaced: () => void) => BackendWatch) {
    this.id = id;
    this.#open = open;
    this.#current = this.#follow();
    this.#all = [this.#current];
  }

  /** The process that gets what is new */
  get current(): BackendWatch {
    return this.#current;
  }

  start(): void {
    this.#current.start();
  }

  async close(): Promise<void> {
    clearTimeout(this.#pause);
    const all = this.#all.splice(0);
    await Promise.all(all.map((each) => each.close()));
  }

  /** Drains the backend, or puts it back into service. */
  drain(drains: boolean): void {
    this.#drains = drains;
    for (const each of this.#all) each.drain(drains);
  }

  addConnection(connection: ServerConnection): void {
    this.#current.addConnection(connection);
  }

  /** Removes a connection that has closed. */
  removeConnection(connection: ServerConnection): void {
    for (const { handOvers } of this.#all) handOvers.remove(connection);
  }

  /** Forwards a message of the engine to the process that has the connection. */
  onBackendMessage(connection: ServerConnection, bytes: Buffer): void {
    for (const { handOvers } of this.#all) handOvers.onBackendMessage(connection, bytes);
  }

  /** Notes that the client or this node abandoned the path. */
  onPathAbandoned(connection: ServerConnection, code: number): void {
    for (const { handOvers } of this.#all) handOvers.onPathAbandoned(connection, code);
  }

  report(): BackendReport {
    const reports = this.#all.map((each) => each.report());
    const total = (of: (report: BackendReport) => number): number =>
      reports.reduce((sum, report) => sum + of(report), 0);
    return {
      ...this.#current.report(),
      connections: total(({ connections }) => connections),
      returning: total(({ returning }) => returning),
      proxied: this.#proxied + total(({ proxied }) => proxied),
    };
  }

  #follow(): BackendWatch {
    const watch: BackendWatch = this.#open(() => {
      if (watch !== this.#all.at(-1)) return;
      if (watch.hasServed) void this.#replace();
      else this.#replaceLater();
    });
    return watch;
  }

  /** The one that was replaced still listens at the address: the other one is elsewhere, or about to listen. */
  #replaceLater(): void {
    const pause = backOffMs(this.#replacedAtOnce, pauses);
    this.#replacedAtOnce += 1;
    this.#pause = setTimeout(() => void this.#replace(), pause).unref();
  }

  /** Connects to the process that listens now, and leaves those before it once it was heard. */
  async #replace(): Promise<void> {
    const before = this.#all.at(-1);
    const next = this.#follow();
    // Nothing was given to a process that was never the current one.
    if (before && before !== this.#current) void this.#all.pop()!.close();
    this.#all.push(next);
    if (this.#drains) next.drain(true);
    next.start();
    await next.ready();
    const [from, to] = [this.#all.indexOf(this.#current), this.#all.indexOf(next)];
    // A later one was heard earlier, or all are closed.
    if (from < 0 || to < from) return;
    this.#current = next;
    this.#replacedAtOnce = 0;
    for (const each of this.#all.slice(from, to)) void this.#leave(each, next);
  }

  async #leave(watch: BackendWatch, next: BackendWatch): Promise<void> {
    await watch.leaveTo(next);
    const place = this.#all.indexOf(watch);
    if (place < 0) return;
    this.#all.splice(place, 1);
    this.#proxied += watch.proxied;
  }
}

import type { Http3Client, PathEvent } from '@sheaf/native';
import type { Logger } from 'pino';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import { keyOf, type WantedPath } from './wanted_paths.js';

/** What the policy needs of a connection. */
export type PathConnection = Pick<Http3Client, 'openPath' | 'abandonPath' | 'setPathStatus' | 'setPathWeight'>;

export interface PathPolicyOptions {
  connection: PathConnection;
  /** The path that carried the handshake; undefined when the system chose it. */
  first: WantedPath | undefined;
  /** The paths that there should be at this moment. */
  wanted(): readonly WantedPath[];
  log: Logger;
}

/** Between attempts to open one path. */
const pauses: BackOff = { first: 1_000, longest: 30_000 };

/** One path on its way from being wanted to being gone. */
interface Entry {
  path: WantedPath;
  state: 'absent' | 'opening' | 'open';
  id: number;
  failures: number;
  retryAt: number;
}

/**
 * Keeps the paths of one connection as they are wanted: opens what is missing, abandons what is not
 * wanted any more, and tries again what failed. `reconcile` compares both whenever it is called.
 */
export class PathPolicy {
  readonly #options: PathPolicyOptions;
  readonly #entries = new Map<string, Entry>();
  #now = 0;
  /** The gateway does not speak multipath: the path of the handshake is the only one. */
  #single = false;
  #stopped = false;

  constructor(options: PathPolicyOptions) {
    this.#options = options;
    const { first } = options;
    if (!first) return;
    const entry: Entry = { path: first, state: 'open', id: 0, failures: 0, retryAt: 0 };
    this.#entries.set(keyOf(first), entry);
    this.#setUse(entry);
  }

  /** Brings the connection closer to what is wanted. `now` is in milliseconds; to be called about once a second. */
  reconcile(now: number): void {
    this.#now = now;
    if (this.#single || this.#stopped) return;
    const wanted = new Map(this.#options.wanted().map((path) => [keyOf(path), path]));
    for (const [key, path] of wanted) {
      if (!this.#entries.has(key)) this.#entries.set(key, { path, state: 'absent', id: -1, failures: 0, retryAt: 0 });
    }
    for (const [key, entry] of this.#entries) {
      if (wanted.has(key)) {
        if (entry.state === 'absent' && now >= entry.retryAt) void this.#open(entry);
      } else if (entry.state === 'absent' || (entry.state === 'open' && this.#abandon(entry))) {
        this.#entries.delete(key);
      }
    }
  }

  onEvent(event: PathEvent): void {
    if (event.type !== 'abandoned') return;
    const entry = [...this.#entries.values()].find(({ state, id }) => state === 'open' && id === event.id);
    if (entry) this.#failed(entry, event.byPeer ? 'abandoned by the gateway' : 'nothing comes back on it');
  }

  stop(): void {
    this.#stopped = true;
  }

  /** A path that is open, that of the handshake before others. */
  working(): WantedPath | undefined {
    return [...this.#entries.values()].find(({ state }) => state === 'open')?.path;
  }

  async #open(entry: Entry): Promise<void> {
    const { local, remote } = entry.path;
    entry.state = 'opening';
    try {
      entry.id = await this.#options.connection.openPath({ local, ...(remote ? { remote } : {}) });
      entry.state = 'open';
      entry.failures = 0;
      this.#options.log.info({ local, id: entry.id }, 'path opened');
      this.#setUse(entry);
    } catch (error) {
      if (this.#stopped) return;
      if (systemErrorCode(error) === 'NO_MULTIPATH') this.#single = true;
      this.#failed(entry, errorMessage(error));
    }
  }

  /** False: it has to stay for the time being, since it is the last one. */
  #abandon(entry: Entry): boolean {
    const { connection, log } = this.#options;
    try {
      connection.abandonPath(entry.id);
    } catch (error) {
      log.debug({ local: entry.path.local, error: errorMessage(error) }, 'path stays');
      return false;
    }
    log.info({ local: entry.path.local, id: entry.id }, 'path abandoned');
    return true;
  }

  #failed(entry: Entry, reason: string): void {
    entry.state = 'absent';
    entry.retryAt = this.#now + backOffMs(entry.failures, pauses);
    entry.failures += 1;
    if (!this.#stopped)
      this.#options.log.warn({ local: entry.path.local, reason, failures: entry.failures }, 'path failed');
  }

  /** What the configuration says of its use. */
  #setUse({ path, id }: Entry): void {
    const { connection, log } = this.#options;
    try {
      if (path.backup) connection.setPathStatus(id, 'backup');
      if (path.weight !== undefined) connection.setPathWeight(id, path.weight);
    } catch (error) {
      // Without multipath there is no other path to prefer.
      log.debug({ local: path.local, error: errorMessage(error) }, 'this path is the only one');
    }
  }
}

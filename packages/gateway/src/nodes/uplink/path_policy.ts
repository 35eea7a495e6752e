import type { Http3Client, PathEvent } from '@sheaf/native';
import type { Logger } from 'pino';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import { errorMessage, systemErrorCode } from '../../errors/user_error.js';
import { keyOf, type WantedPath } from './wanted_paths.js';

/** The part of a connection that the policy needs */
export type PathConnection = Pick<Http3Client, 'openPath' | 'abandonPath' | 'setPathStatus' | 'setPathWeight'>;

export interface PathPolicyOptions {
  connection: PathConnection;
  /** Path of the handshake; undefined when the system chose it */
  first: WantedPath | undefined;
  /** Returns the paths that should exist at this moment. */
  wanted(): readonly WantedPath[];
  log: Logger;
}

/** Pauses between attempts to open one path */
const pauses: BackOff = { first: 1_000, longest: 30_000 };

/** One path from when it is wanted until it is gone */
interface Entry {
  path: WantedPath;
  state: 'absent' | 'opening' | 'open';
  id: number;
  failures: number;
  retryAt: number;
}

/**
 * Keeps the paths of one connection as they are wanted: opens missing ones, abandons unwanted ones, and tries failed
 * ones again. Each call of `reconcile` compares both.
 */
export class PathPolicy {
  readonly #options: PathPolicyOptions;
  readonly #entries = new Map<string, Entry>();
  #now = 0;
  /** Whether the gateway does not speak multipath, so that the path of the handshake is the only one */
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

  /** Brings the paths closer to the wanted ones. `now` is in milliseconds. Call this about once a second. */
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

  /** Returns an open path, preferably that of the handshake. */
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

  /** Abandons a path. Returns false if it must stay for now because it is the last one. */
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

  /** Applies the configured status and weight. */
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

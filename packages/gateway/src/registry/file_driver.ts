import { randomUUID } from 'node:crypto';
import { constants, watch, type FSWatcher } from 'node:fs';
import { link, lstat, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorCode } from '../errors/user_error.js';
import { readIfRegular } from '../values/regular_file.js';
import {
  isRegistryKey,
  maxEntries,
  readBytes,
  RevisionConflict,
  type MaxBytes,
  type RegistryDriver,
  type RegistryEntry,
  type RegistryListing,
  type RegistryWatch,
  type WatchHandlers,
} from './driver.js';

/** Begin of the names of files that are not complete yet */
const draftPrefix = '.draft-';
/** Age in milliseconds of a draft that nobody will finish */
const draftMs = 60_000;
/** How often a heartbeat tries again when another process writes the same key at the same moment */
const attempts = 8;

/** The name of the file of one revision of a key */
interface Name {
  key: string;
  revision: number;
}

function parse(file: string): Name | undefined {
  const [, key, revision] = /^([^@]+)@([1-9]\d{0,14})$/.exec(file) ?? [];
  return key !== undefined && isRegistryKey(key) ? { key, revision: Number(revision) } : undefined;
}

/**
 * A registry in a directory of one machine. Each revision of a key is a file `KEY@REVISION`, which is linked to its name once it is
 * complete: a name that exists already is the conflict of a compare-and-set, so processes need no lock.
 */
export class FileDriver implements RegistryDriver {
  reconnected = (): void => undefined;
  readonly #directory: string;
  #connected = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  get place(): string {
    return this.#directory;
  }

  get connected(): boolean {
    return this.#connected;
  }

  open(): void {
    void this.#removeDrafts()
      .catch(() => undefined)
      .then(() => this.reconnected());
  }

  async get(key: string): Promise<RegistryEntry | undefined> {
    const latest = (await this.#latest()).get(key);
    return latest === undefined ? undefined : this.#read({ key, revision: latest }, readBytes(key));
  }

  async list(maxBytes?: MaxBytes): Promise<RegistryListing> {
    const latest = [...(await this.#latest())].map(([key, revision]) => ({ key, revision }));
    const entries: RegistryEntry[] = [];
    for (const name of latest.slice(0, maxEntries)) {
      const entry = await this.#read(name, readBytes(name.key, maxBytes));
      if (entry) entries.push(entry);
    }
    return { entries, more: latest.length > maxEntries };
  }

  async watch({ maxBytes, changed, ended }: WatchHandlers): Promise<RegistryWatch> {
    await this.#make();
    const watcher: FSWatcher = watch(this.#directory, { persistent: false }, (_event, file) => {
      const name = file === null ? undefined : parse(file);
      // A file that is removed is an older revision.
      if (!name) return;
      void this.#read(name, readBytes(name.key, maxBytes), false).then((entry) => entry && changed(entry), ended);
    });
    watcher.on('error', ended);
    return { close: () => watcher.close() };
  }

  async compareAndSet(key: string, value: Uint8Array, expected: number): Promise<number> {
    const before = (await this.#latest()).get(key) ?? 0;
    if (before !== expected) throw new RevisionConflict(key);
    return this.#write({ key, revision: expected + 1 }, value, true);
  }

  async heartbeat(key: string, value: Uint8Array): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const revision = ((await this.#latest()).get(key) ?? 0) + 1;
        return await this.#write({ key, revision }, value, false);
      } catch (error) {
        if (!(error instanceof RevisionConflict) || attempt === attempts) throw error;
      }
    }
  }

  close(): Promise<void> {
    this.#connected = false;
    return Promise.resolve();
  }

  async #write(name: Name, value: Uint8Array, safe: boolean): Promise<number> {
    await this.#make();
    const draft = join(this.#directory, `${draftPrefix}${randomUUID()}`);
    try {
      const handle = await open(draft, 'wx', 0o600);
      try {
        await handle.writeFile(value);
        if (safe) await handle.sync();
      } finally {
        await handle.close();
      }
      await link(draft, this.#pathOf(name));
    } catch (error) {
      throw systemErrorCode(error) === 'EEXIST' ? new RevisionConflict(name.key) : error;
    } finally {
      await rm(draft, { force: true });
    }
    await this.#removeOlder(name);
    return name.revision;
  }

  /** Removes what nobody reads any more. @throws RevisionConflict when the written revision is itself an older one */
  async #removeOlder({ key, revision }: Name): Promise<void> {
    const names = (await readdir(this.#directory)).map(parse).filter((name) => name?.key === key);
    const newest = Math.max(...names.map((name) => name?.revision ?? 0));
    // Readers of the revision before may still be about to open it.
    for (const name of names) if (name && name.revision < newest - 1) await rm(this.#pathOf(name), { force: true });
    // A revision was written and removed again between the look and the link, so its name was free.
    if (revision < newest - 1) throw new RevisionConflict(key);
  }

  /** Reads a revision, or the newest one when that is gone. */
  async #read(name: Name, maxBytes: number, orNewer = true): Promise<RegistryEntry | undefined> {
    if (maxBytes === 0) return { ...name, value: undefined };
    try {
      return { ...name, value: await readRegular(this.#pathOf(name), maxBytes) };
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw error;
      const newer = orNewer ? (await this.#latest()).get(name.key) : undefined;
      return newer === undefined || newer === name.revision
        ? undefined
        : this.#read({ ...name, revision: newer }, maxBytes);
    }
  }

  /** Returns the newest revision of each key. */
  async #latest(): Promise<Map<string, number>> {
    try {
      await this.#make();
      const latest = new Map<string, number>();
      for (const file of await readdir(this.#directory)) {
        const name = parse(file);
        if (name && name.revision > (latest.get(name.key) ?? 0)) latest.set(name.key, name.revision);
      }
      this.#connected = true;
      return latest;
    } catch (error) {
      this.#connected = false;
      throw error;
    }
  }

  async #make(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
  }

  async #removeDrafts(): Promise<void> {
    for (const file of await readdir(this.#directory)) {
      if (!file.startsWith(draftPrefix)) continue;
      const path = join(this.#directory, file);
      const { mtimeMs } = await stat(path);
      if (Date.now() - mtimeMs > draftMs) await rm(path, { force: true });
    }
  }

  #pathOf({ key, revision }: Name): string {
    return join(this.#directory, `${key}@${revision}`);
  }
}

/** Returns undefined unless it is a regular file of a length that is read: links lead elsewhere, and pipes never end. */
async function readRegular(path: string, maxBytes: number): Promise<Buffer | undefined> {
  if (!(await lstat(path)).isFile()) return undefined;
  // A link that has taken the place of the file meanwhile is not followed.
  return readIfRegular(path, maxBytes, constants.O_NOFOLLOW);
}

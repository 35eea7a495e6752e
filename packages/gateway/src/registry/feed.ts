import { errorMessage } from '../errors/user_error.js';
import { AnsweredTime } from './answered_time.js';
import { maxEntries, maxKeyLength, type RegistryDriver, type RegistryEntry, type RegistryWatch } from './driver.js';
import { EntryRefused } from './entry.js';
import type { Refusals } from './refusals.js';
import type { FleetTimes } from './times.js';

/** Reads the entries of one kind. */
export interface EntryReader {
  maxBytes: number;
  /** Whether what is accepted has to outlive a crash of the process: it is in the copy at once */
  isKept?: boolean;
  /** Whether anybody can think of more keys for it. What is remembered of a key without an accepted entry has to be bounded. */
  isOpen?: boolean;
  /** Returns whether the entry is newer than the one before. `at` is the reader's time. @throws EntryRefused */
  accept(entry: { key: string; value: Buffer; revision: number }, at: number): boolean;
}

export interface FeedOptions {
  driver: RegistryDriver;
  /** Returns the reader of a key. The keys with a reader are few: their entries are kept. */
  readerOf: (key: string) => EntryReader | undefined;
  refusals: Refusals;
  /** Called when an entry was accepted that has to be in the copy. */
  keep: () => void;
  /** Whether this process writes something in every beat. If not, nothing shows that the watch lives, and lists replace it. */
  writes: () => boolean;
  /** Returns a time in milliseconds that only grows. */
  now: () => number;
  times: FleetTimes;
}

/** Changes of one key in a second that are read. A node writes one. */
const changesPerSecond = 10;
/** Changes of all keys in a second that are read: each costs a signature */
const allChangesPerSecond = 2_000;

interface Pace {
  second: number;
  count: number;
}

/**
 * Everything that the registry tells. A watch may go silent without an error, as those of NATS do when the leader of a stream is lost.
 * So it has to tell what this process writes itself, and it is compared with a list from time to time; one that fails is opened anew.
 */
export class Feed {
  /** Values of the entries that were accepted last, by key */
  readonly accepted = new Map<string, Buffer>();
  readonly time: AnsweredTime;
  /** Resolves when all that the registry has was read for the first time */
  readonly first: Promise<void>;
  deadWatches = 0;
  /** Why the latest operation failed */
  reason: string | undefined;
  readonly #options: FeedOptions;
  #resolveFirst!: () => void;
  #watch: RegistryWatch | undefined;
  #opening: Promise<void> | undefined;
  #closed = false;
  #heardAt: number | undefined;
  #auditedAt = Number.NEGATIVE_INFINITY;
  /** Latest revision of each key that the watch told */
  readonly #told = new Map<string, number>();
  readonly #paces = new Map<string, Pace>();
  readonly #paceOfAll: Pace = { second: 0, count: 0 };
  /** What the watch must tell soon: the latest write of this process, and revisions that a list had */
  #expected: { at: number; revisions: Map<string, number> } | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.time = new AnsweredTime(2.5 * options.times.beat);
    this.first = new Promise((resolve) => (this.#resolveFirst = resolve));
    options.driver.reconnected = () => void this.#open();
  }

  /** Time since the registry told something, in milliseconds; undefined before the first time */
  get age(): number | undefined {
    return this.#heardAt === undefined ? undefined : this.#options.now() - this.#heardAt;
  }

  /** Opens what is not open, or dead, and compares from time to time. Never rejects. */
  async tick(): Promise<void> {
    const { now, times, writes } = this.#options;
    const at = now();
    if (this.#expected && at - this.#expected.at >= times.echo) {
      this.#expected = undefined;
      this.deadWatches += 1;
      await this.#open();
    } else if (!this.#watch) await this.#open();
    else if (!writes() || at - this.#auditedAt >= times.audit) await this.#audit();
  }

  /** This process wrote a key, so the watch has to tell that. */
  expect(key: string, revision: number): void {
    if (!this.#watch || (this.#told.get(key) ?? 0) >= revision) return;
    this.#expected ??= { at: this.#options.now(), revisions: new Map() };
    this.#expected.revisions.set(key, revision);
  }

  /** Reads an entry of the copy of an earlier time. */
  recall(key: string, value: Buffer): void {
    this.#read({ key, value, revision: 0 });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watch?.close();
    await this.#opening;
    this.#watch?.close();
  }

  readonly #maxBytes = (key: string): number => this.#options.readerOf(key)?.maxBytes ?? 0;

  #open(): Promise<void> {
    this.#opening ??= this.#replaceWatch().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #replaceWatch(): Promise<void> {
    const { driver } = this.#options;
    const before = this.#watch;
    this.#watch = undefined;
    before?.close();
    if (this.#closed) return;
    try {
      const watch = await driver.watch({
        maxBytes: this.#maxBytes,
        changed: (entry) => this.#watch === watch && this.#onChange(entry),
        ended: () => {
          if (this.#watch === watch) this.#watch = undefined;
        },
      });
      this.#watch = watch;
      this.#expected = undefined;
      // A registry that was lost counts anew.
      this.#told.clear();
      await this.#audit();
    } catch (error) {
      this.reason = errorMessage(error);
    }
  }

  /** Reads all that is there, and notes what the watch should have told. */
  async #audit(): Promise<void> {
    const { driver, refusals, now } = this.#options;
    this.#auditedAt = now();
    try {
      const { entries, more } = await driver.list(this.#maxBytes);
      this.#noteAnswer();
      if (more)
        refusals.add('*', this.#auditedAt, new EntryRefused('excess', `there are more than ${maxEntries} keys`));
      for (const entry of entries) {
        this.#read(entry);
        if (this.#told.has(entry.key)) this.expect(entry.key, entry.revision);
      }
      // What a first list had was there before the watch.
      for (const { key, revision } of entries)
        if (this.#isKnown(key) && !this.#told.has(key)) this.#told.set(key, revision);
      this.#resolveFirst();
    } catch (error) {
      this.reason = errorMessage(error);
    }
  }

  #onChange(entry: RegistryEntry): void {
    const { readerOf, refusals } = this.#options;
    this.#noteAnswer();
    if (!readerOf(entry.key)) return this.#read(entry);
    const isKnown = this.#isKnown(entry.key);
    if (isKnown) this.#told.set(entry.key, entry.revision);
    this.#noteTold(entry);
    if (this.#isTooFast(isKnown ? entry.key : '*'))
      refusals.add(entry.key, entry.revision, new EntryRefused('flood', `${entry.key} changes too often`));
    else this.#read(entry);
  }

  #noteTold({ key, revision }: RegistryEntry): void {
    const expected = this.#expected;
    const wanted = expected?.revisions.get(key);
    if (!expected || wanted === undefined) return;
    // It is behind, but not dead.
    expected.at = this.#options.now();
    if (wanted <= revision) expected.revisions.delete(key);
    if (expected.revisions.size === 0) this.#expected = undefined;
  }

  #noteAnswer(): void {
    const at = this.#options.now();
    this.#heardAt = at;
    this.reason = undefined;
    this.time.heard(at);
  }

  #read({ key, value, revision }: RegistryEntry): void {
    const { readerOf, refusals, keep } = this.#options;
    const reader = readerOf(key);
    try {
      if (!reader) throw new EntryRefused('unknown', `nobody reads ${key.slice(0, maxKeyLength)}`);
      if (!value || value.length > reader.maxBytes) throw new EntryRefused('oversized', `${key} is too large`);
      if (this.accepted.size >= maxEntries && !this.accepted.has(key))
        throw new EntryRefused('excess', `there are ${maxEntries} keys beside ${key}`);
      if (!reader.accept({ key, value, revision }, this.time.now)) return;
      this.accepted.set(key, value);
      if (reader.isKept && revision > 0) keep();
    } catch (error) {
      if (!(error instanceof EntryRefused)) throw error;
      refusals.add(key, revision, error);
    }
  }

  /** Whether the configuration or an accepted entry has this key, of which there are few */
  #isKnown(key: string): boolean {
    const reader = this.#options.readerOf(key);
    return reader !== undefined && (reader.isOpen !== true || this.accepted.has(key));
  }

  #isTooFast(key: string): boolean {
    const pace = this.#paces.get(key) ?? { second: 0, count: 0 };
    this.#paces.set(key, pace);
    const second = Math.floor(this.#options.now() / 1_000);
    return countIn(second, pace) > changesPerSecond || countIn(second, this.#paceOfAll) > allChangesPerSecond;
  }
}

/** Counts a change, and returns how many there were in this second. */
function countIn(second: number, pace: Pace): number {
  if (pace.second !== second) Object.assign(pace, { second, count: 0 });
  return (pace.count += 1);
}

/** A value of the registry. Its revision grows with every change of its key. */
export interface RegistryEntry {
  key: string;
  revision: number;
  /** Undefined where the value is larger than its reader takes */
  value: Buffer | undefined;
}

/** Entries of the registry, of which there may be more than anybody reads */
export interface RegistryListing {
  entries: RegistryEntry[];
  /** Whether there are more than `maxEntries` */
  more: boolean;
}

/** A watch that was opened, until `close` */
export interface RegistryWatch {
  close(): void;
}

/**
 * Returns the longest value of a key, in bytes, that is read; 0 where nobody reads it. A longer one costs no memory. Default:
 * `maxValueBytes`, which bounds it, too.
 */
export type MaxBytes = (key: string) => number;

/** Returns how many bytes of the value of a key are read at most. */
export const readBytes = (key: string, maxBytes: MaxBytes = () => maxValueBytes): number =>
  Math.min(maxBytes(key), maxValueBytes);

export interface WatchHandlers {
  /** See `MaxBytes` */
  maxBytes?: MaxBytes;
  /** An entry changed after the watch was opened. */
  changed(entry: RegistryEntry): void;
  /** The watch ended by itself. Watches may also go silent without this. */
  ended(): void;
}

/** Longest value that is read or written, in bytes */
export const maxValueBytes = 512 * 1024;
/** Maximum of entries that are read at once */
export const maxEntries = 4_096;

export const maxKeyLength = 128;

/** Words of letters, digits, `-` and `_`, with dots between them */
const keys = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

/** Whether nodes write such a key. Others may be there all the same. */
export function isRegistryKey(key: string): boolean {
  return key.length <= maxKeyLength && keys.test(key);
}

/** The value is not at the expected revision: somebody else has written it. */
export class RevisionConflict extends Error {
  constructor(key: string) {
    super(`${key} has another revision than expected`);
    this.name = 'RevisionConflict';
  }
}

/**
 * Where nodes of a fleet tell each other what they are. Whoever holds the registry can say anything in it, and nothing at all:
 * its readers check signatures, and go on without it. Every operation may reject.
 */
export interface RegistryDriver {
  /** Where the registry is, for people */
  readonly place: string;
  /** Whether the registry answered last */
  readonly connected: boolean;
  /** Called when the registry can be asked, and after a connection was made again, when watches may have missed something */
  reconnected: () => void;
  /** Begins to connect, without waiting for it. */
  open(): void;
  get(key: string): Promise<RegistryEntry | undefined>;
  /** Reads all entries. */
  list(maxBytes?: MaxBytes): Promise<RegistryListing>;
  watch(handlers: WatchHandlers): Promise<RegistryWatch>;
  /** Writes a value if the key has the revision `expected`; 0 stands for no value. Returns the new revision. @throws RevisionConflict */
  compareAndSet(key: string, value: Uint8Array, expected: number): Promise<number>;
  /** Writes a value whatever was there, without waiting until it is safe from a loss of power. Returns its revision. */
  heartbeat(key: string, value: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

import type { KV, KvEntry } from '@nats-io/kv';
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node';
import { orLate } from '../values/or_late.js';
import { readSmallFile } from '../values/regular_file.js';
import {
  maxEntries,
  maxValueBytes,
  readBytes,
  RevisionConflict,
  type MaxBytes,
  type RegistryDriver,
  type RegistryEntry,
  type RegistryListing,
  type RegistryWatch,
  type WatchHandlers,
} from './driver.js';

export interface NatsOptions {
  servers: readonly string[];
  /** Name of the bucket */
  bucket: string;
  /** Number of servers that keep each value, when this node makes the bucket */
  replicas: number;
  /** File with what this node proves itself by: `.creds`, the seed of an NKey, or `USER:PASSWORD` */
  credentials?: string | undefined;
  tls?: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined } | undefined;
}

/** Longest wait for a server, in milliseconds */
const timeoutMs = 2_000;
/** Pause between attempts to connect, in milliseconds */
const pauseMs = 500;
/** JetStream's code for an update of another revision than the last one */
const wrongLastSequence = 10_071;
/** JetStream's code where there is no bucket of the name */
const streamNotFound = 10_059;
/** Bytes of one key and its headers, at most */
const overheadBytes = 1_024;

/** Bytes of a bucket, at most: nodes write little, and an operator few large values */
const totalBytes = 64 * maxValueBytes + maxEntries * overheadBytes;

/** A registry in a bucket of NATS JetStream. The packages of its client are loaded when it is opened. */
export class NatsDriver implements RegistryDriver {
  reconnected = (): void => undefined;
  readonly #options: NatsOptions;
  #connection: NatsConnection | undefined;
  #bucket: KV | undefined;
  #connected = false;
  #closed = false;
  #opening = false;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: NatsOptions) {
    this.#options = options;
  }

  get place(): string {
    return `${this.#options.servers.join(', ')} (${this.#options.bucket})`;
  }

  get connected(): boolean {
    return this.#connected;
  }

  open(): void {
    if (this.#opening) return;
    this.#opening = true;
    clearTimeout(this.#pause);
    void this.#open()
      .catch(() => this.#openLater())
      .finally(() => (this.#opening = false));
  }

  async get(key: string): Promise<RegistryEntry | undefined> {
    const entry = await this.#ask((kv) => kv.get(key));
    return entry?.operation === 'PUT' ? entryOf(entry) : undefined;
  }

  async list(maxBytes?: MaxBytes): Promise<RegistryListing> {
    const all = await this.#openSeries((kv) => kv.history());
    const newest = new Map<string, RegistryEntry>();
    const read = async (): Promise<boolean> => {
      for await (const entry of all) {
        if (entry.operation !== 'PUT') newest.delete(entry.key);
        else if (newest.size >= maxEntries && !newest.has(entry.key)) return true;
        else newest.set(entry.key, entryOf(entry, maxBytes));
      }
      return false;
    };
    try {
      const more = await inTime(read());
      return { entries: [...newest.values()], more };
    } finally {
      all.stop();
    }
  }

  async watch({ maxBytes, changed, ended }: WatchHandlers): Promise<RegistryWatch> {
    const changes = await this.#openSeries((kv) => kv.watch({ include: 'updates' }));
    const read = async (): Promise<void> => {
      for await (const entry of changes) if (entry.operation === 'PUT') changed(entryOf(entry, maxBytes));
    };
    void read()
      .catch(() => undefined)
      .then(ended);
    return { close: () => changes.stop() };
  }

  async compareAndSet(key: string, value: Uint8Array, expected: number): Promise<number> {
    try {
      return await this.#ask((kv) => (expected === 0 ? kv.create(key, value) : kv.update(key, value, expected)));
    } catch (error) {
      throw hasCode(error, wrongLastSequence) ? new RevisionConflict(key) : error;
    }
  }

  heartbeat(key: string, value: Uint8Array): Promise<number> {
    return this.#ask((kv) => kv.put(key, value));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#pause);
    // A connection that is about to be made closes itself.
    await this.#connection?.close().catch(() => undefined);
  }

  #ask<Value>(operation: (kv: KV) => Promise<Value>): Promise<Value> {
    return inTime(this.#begin(operation));
  }

  /** Opens a series of entries, which is stopped if it opens too late. */
  async #openSeries<Series extends { stop(): void }>(open: (kv: KV) => Promise<Series>): Promise<Series> {
    const opening = this.#begin(open);
    try {
      return await inTime(opening);
    } catch (error) {
      void opening.then(
        (series) => series.stop(),
        () => undefined,
      );
      throw error;
    }
  }

  /** Begins an operation. When there is no bucket any more, makes another one: all that nodes say comes again. */
  async #begin<Value>(operation: (kv: KV) => Promise<Value>): Promise<Value> {
    if (!this.#bucket) throw new Error('there is no connection to the registry yet');
    try {
      return await operation(this.#bucket);
    } catch (error) {
      if (hasCode(error, streamNotFound)) this.open();
      throw error;
    }
  }

  #openLater(): void {
    if (!this.#closed) this.#pause = setTimeout(() => this.open(), pauseMs).unref();
  }

  async #open(): Promise<void> {
    const [{ connect }, { jetstream }, { Kvm }] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/jetstream'),
      import('@nats-io/kv'),
    ]);
    if (this.#connection?.isClosed() !== false) {
      const connection = await connect(await this.#connectionOptions());
      this.#connection = connection;
      void this.#follow(connection);
    }
    if (this.#closed) return this.#connection.close();
    const { bucket, replicas } = this.#options;
    const buckets = new Kvm(jetstream(this.#connection, { timeout: timeoutMs }));
    this.#bucket = await buckets
      .open(bucket)
      .then(async (opened) => {
        await opened.status();
        return opened;
      })
      .catch(() =>
        buckets.create(bucket, {
          history: 1,
          replicas,
          maxValueSize: maxValueBytes + overheadBytes,
          max_bytes: totalBytes,
        }),
      );
    this.#connected = true;
    this.reconnected();
  }

  async #connectionOptions(): Promise<NodeConnectionOptions> {
    const { servers, tls, credentials } = this.#options;
    const authenticator = credentials === undefined ? undefined : await authenticatorOf(credentials);
    return {
      servers: [...servers],
      name: 'sheaf',
      timeout: timeoutMs,
      maxReconnectAttempts: -1,
      reconnectTimeWait: pauseMs,
      // A server that stopped without closing its connections is noticed by the lack of answers.
      pingInterval: timeoutMs,
      maxPingOut: 1,
      ...(authenticator && { authenticator }),
      ...(tls && { tls: await contentsOf(tls) }),
    };
  }

  /** Notes what becomes of a connection, until it is closed. */
  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'staleConnection') this.#connected = false;
      if (type !== 'reconnect') continue;
      this.#connected = true;
      this.reconnected();
    }
    this.#connected = false;
    // Some faults, such as refused credentials, end a connection for good.
    this.#openLater();
  }
}

/** Reads the files of a kind each. */
async function contentsOf(files: Readonly<Record<string, string | undefined>>): Promise<Record<string, string>> {
  const named = Object.entries(files).filter((each): each is [string, string] => each[1] !== undefined);
  const read = named.map(async ([kind, file]): Promise<[string, string]> => [kind, await readSmallFile(file)]);
  return Object.fromEntries(await Promise.all(read));
}

async function authenticatorOf(file: string): Promise<NonNullable<NodeConnectionOptions['authenticator']>> {
  const { credsAuthenticator, nkeyAuthenticator, usernamePasswordAuthenticator } =
    await import('@nats-io/transport-node');
  const text = (await readSmallFile(file)).trim();
  if (text.includes('-----BEGIN NATS USER JWT-----')) return credsAuthenticator(Buffer.from(text));
  if (/^SU[A-Z2-7]{56}$/.test(text)) return nkeyAuthenticator(Buffer.from(text));
  const [user = '', ...password] = text.split(':');
  return usernamePasswordAuthenticator(user, password.join(':'));
}

function entryOf({ key, revision, value }: KvEntry, maxBytes?: MaxBytes): RegistryEntry {
  return { key, revision, value: value.length > readBytes(key, maxBytes) ? undefined : Buffer.from(value) };
}

const hasCode = (error: unknown, code: number): boolean => (error as { code?: unknown }).code === code;

/** Rejects when a server answers too late. */
function inTime<Value>(operation: Promise<Value>): Promise<Value> {
  return orLate(operation, timeoutMs, () => new Error('the registry did not answer in time'));
}

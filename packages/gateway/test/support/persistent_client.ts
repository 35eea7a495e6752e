import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, type ClientOptions, type Http3Client } from '@sheaf/native';
import { errorMessage } from '../../src/errors/user_error.js';
import { ask } from './http3_client.js';

/** A connection that ended although its client had more to ask */
export interface LostConnection {
  /** The page that was asked for on this connection, and on no other */
  page: string;
  /** Time of `performance.now()` at which it began */
  begun: number;
  /** Requests that were answered before */
  answered: number;
  /** Error of the request that was not answered */
  failure: string;
  /** What the transport says about the end; undefined when it was not told of one */
  closedBy: string | undefined;
}

export interface PersistentClientOptions {
  /** Where the site is, and a way there by which addresses change */
  port: number;
  translated: number;
  random: () => number;
  /** Returns a page that no other connection asks for. */
  nextPage(): string;
}

/** A client that asks on and on, over connections of random kinds: some of them stay, others resume earlier ones */
export class PersistentClient {
  readonly lost: LostConnection[] = [];
  readonly counts = { answered: 0, connections: 0, early: 0, paths: 0 };
  readonly #options: PersistentClientOptions;
  #session: Buffer | undefined;
  #stopped = false;
  /** Time at which the connection began that has not brought a response yet */
  #waitsSince: number | undefined;
  /** Whether the connection leads through the translator */
  #translated = false;

  constructor(options: PersistentClientOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    while (!this.#stopped) await this.#connect();
  }

  /** Whether a connection through the translator has not brought a response yet */
  get begins(): boolean {
    return this.#translated && this.#waitsSince !== undefined;
  }

  /** Asks no more. A handshake is not waited for that began before this time: the server may have forgotten it. */
  async stop(before: number, running: Promise<void>): Promise<void> {
    this.#stopped = true;
    if (this.#waitsSince === undefined || this.#waitsSince > before) await running;
  }

  /** Makes one connection, and uses it until it is lost, or has had its number of requests. */
  async #connect(): Promise<void> {
    const { random, nextPage } = this.#options;
    const page = nextPage();
    const begun = (this.#waitsSince = performance.now());
    const requests = random() < 0.5 ? Number.POSITIVE_INFINITY : 5 + random() * 30;
    const further = random() < 0.3;
    let [answered, closedBy]: [number, string | undefined] = [0, undefined];
    let client: Http3Client | undefined;
    try {
      client = await connectHttp3(this.#choose(further));
      client.once('close', (error) => (closedBy = error?.message ?? 'closed in order'));
      client.once('session', (session: Buffer) => (this.#session = session));
      for (; answered < requests && !this.#stopped; answered += 1) {
        if (further && answered % 5 === 1 && answered < 12) await this.#openPath(client);
        const { status } = await ask(client, { path: page });
        if (status !== 200) throw new Error(`the status is ${status}`);
        this.#waitsSince = undefined;
        await sleep(random() * 20);
      }
    } catch (error) {
      this.lost.push({ page, begun, answered, failure: errorMessage(error), closedBy });
    }
    this.#count(answered, client);
    await client?.close().catch(() => undefined);
  }

  /** Returns options of a connection. One with several paths comes from an address that stays. */
  #choose(further: boolean): ClientOptions {
    const { port, translated, random } = this.#options;
    const host = '127.0.0.1';
    const common = { host, alpn: ['h3'], insecure: true, keepAliveMs: 200, connectTimeoutMs: 60_000 };
    const session = random() < 0.6 ? this.#session : undefined;
    this.#translated = !further && random() < 0.6;
    return {
      ...common,
      ...(session && { session, earlyRequests: random() < 0.7 }),
      ...(this.#translated ? { port: translated } : { port, localAddress: host }),
    };
  }

  /** A path cannot be opened before the handshake is confirmed, nor on a connection that is lost. */
  async #openPath(client: Http3Client): Promise<void> {
    const opened = client.openPath({ local: '127.0.0.1' }).then(
      () => 1,
      () => 0,
    );
    this.counts.paths += await opened;
  }

  #count(answered: number, client: Http3Client | undefined): void {
    this.counts.answered += answered;
    this.counts.connections += 1;
    if (client?.status().earlyData) this.counts.early += 1;
  }
}

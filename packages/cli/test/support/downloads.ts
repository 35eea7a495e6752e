import { setTimeout as sleep } from 'node:timers/promises';
import { BackendClient, errorMessage, systemErrorCode } from '@sheaf/gateway';
import {
  connectHttp3,
  type ClientRequestOptions,
  type ClientResponse,
  type BackendKeyMode,
  type Http3Client,
} from '@sheaf/native';
import { expect } from 'vitest';

/** How long a request that needs another connection keeps trying, in milliseconds. */
const dialMs = 60_000;
/** Pause after a request that failed, in milliseconds: where nobody answers, the next one fails as fast. */
const pauseMs = 50;
/** How long downloads may take to end once no new ones begin, in milliseconds. */
const endMs = 60_000;
const parallel = 6;
/** RFC 9218 §4.2: all at the same time, so that a stall is no waiting for one's turn. */
const sharing = { priority: 'u=3, i' };

export interface DownloadsOptions {
  port: number;
  path: string;
  /** What it has to be. */
  content: Buffer;
  /** What else it may be as a whole, of the same length. */
  others?: readonly Buffer[];
  /** Undefined: a client without Multi-End. */
  keyMode?: BackendKeyMode;
  /** Silence after which a connection is lost. Default: that of the native client */
  idleTimeoutMs?: number;
  /** First and last byte of the part that is asked for. Default: the whole content. */
  part?: readonly [first: number, last: number];
}

/** Rejects with what `late` says unless the promise settles in time. */
async function within(ms: number, promise: Promise<unknown> | undefined, late: () => string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${late()} within ${ms / 1000} s`)), ms);
  });
  await Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

/** Downloads, several at a time and one after the other, with what became of them. */
export class Downloads {
  requests = 0;
  /** Begun after `mark`, and complete. */
  since = 0;
  failures: string[] = [];
  bytesLost = 0;
  bytesReceived = 0;
  /** From a request to its first byte, and between two bytes of one response. */
  longestStallMs = 0;
  keyUpdates = 0;
  readonly #options: DownloadsOptions;
  #client!: Http3Client;
  /** Connections that bring what was asked for over them, and nothing new */
  readonly #former: Http3Client[] = [];
  /** What the last connection left for 0-RTT */
  #session: Buffer | undefined;
  #backends!: BackendClient;
  /** The connection is. */
  #open = false;
  #dialling: Promise<void> | undefined;
  #measuredFrom = 0;
  #markedAt = Number.POSITIVE_INFINITY;
  #stopping = false;
  #abandoned = false;
  #workers: Promise<void>[] = [];
  /** Bytes that came so far, by the numbers of the requests in flight. */
  readonly #inFlight = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;
  #givesUp = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: DownloadsOptions) {
    this.#options = options;
  }

  /** Resolves once the client has as many open backends as it gets. Keys are updated whenever that is permitted. */
  async open(backends: number): Promise<void> {
    await this.#dial();
    // What is asked before the routes are known goes to the gateway.
    if (backends > 0) await this.#backends.ready(dialMs);
    const deadline = performance.now() + dialMs;
    while (this.#openBackends() < backends) {
      if (performance.now() > deadline) throw new Error(`${this.#openBackends()} of ${backends} backends are open`);
      await sleep(50);
    }
    this.#timer = setInterval(() => this.#updateKeys(), 100);
  }

  begin(): void {
    this.#workers = Array.from({ length: parallel }, () => this.#work());
  }

  /** From now on stalls are measured. */
  measure(): void {
    this.#measuredFrom = performance.now();
    this.longestStallMs = 0;
  }

  /** From now on `since` counts. */
  mark(): void {
    this.#markedAt = performance.now();
  }

  /** Bytes that came from each backend, by id. */
  receivedFrom(backend: number): number {
    return this.#client
      .status()
      .backends.filter((each) => each.backend === backend)
      .reduce((sum, { bytesReceived }) => sum + bytesReceived, 0);
  }

  /** Gives up this many downloads after their next bytes, which stops the streams. Others begin in their place. */
  abandonSome(count: number): void {
    this.#givesUp = count;
  }

  /** Reads nothing for a time in milliseconds. Stalls are measured from its end on. */
  async pause(ms: number): Promise<void> {
    this.#reading = sleep(ms);
    await this.#reading;
    this.measure();
  }

  /** Opens another connection with what the last one has left, and asks for this many downloads in 0-RTT. Others follow. */
  async resume(count: number): Promise<void> {
    this.#former.push(this.#client);
    await this.#dial(this.#session);
    await Promise.all(Array.from({ length: count }, () => this.#download()));
    expect(this.#client.status().earlyData).toBe(true);
  }

  /** Opens a second path to the gateway, from another address of this machine. */
  async openPath(local: string): Promise<void> {
    await this.#client.openPath({ local });
  }

  /** The path to the gateway begins at another address of this machine from now on. */
  async moveTo(local: string): Promise<void> {
    const { paths, backends } = this.#client.status();
    const path = await this.#client.openPath({ local });
    for (const { id } of paths) if (!backends.some((backend) => backend.path === id)) this.#client.abandonPath(id);
    expect(this.#client.status().paths.find(({ id }) => id === path)?.local.address).toBe(local);
  }

  /** Resolves once the downloads in flight are complete. Rejects with those that do not end. */
  async end(): Promise<void> {
    this.#stopping = true;
    await this.#ended();
    clearInterval(this.#timer);
    await this.#close();
  }

  async #close(): Promise<void> {
    // There is none when the gateway never answered.
    const clients = [...this.#former, this.#client as Http3Client | undefined];
    const closed = Promise.all(clients.map(async (client) => client?.close()));
    await within(endMs, closed, () => 'the connection did not close').catch(() => undefined);
  }

  #ended(): Promise<void> {
    return within(endMs, Promise.all(this.#workers), () => {
      const open = [...this.#inFlight].map(
        ([request, bytes]) => `request ${request} with ${bytes} of ${this.#options.content.length} bytes`,
      );
      return `${open.length} downloads did not end: ${open.join(', ')}`;
    });
  }

  /** Ends downloads that do not go on: those in flight fail, and count as such. Rejects with those that do not even fail. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    this.#stopping = true;
    clearInterval(this.#timer);
    await this.#close();
    await this.#ended();
  }

  #updateKeys(): void {
    if (this.#open && this.#client.updateKeys()) this.keyUpdates += 1;
  }

  #openBackends(): number {
    return this.#client.status().backends.filter(({ state }) => state === 'open').length;
  }

  async #work(): Promise<void> {
    while (!this.#stopping) await this.#download();
  }

  async #download(): Promise<void> {
    const began = performance.now();
    this.requests += 1;
    const number = this.requests;
    this.#inFlight.set(number, 0);
    const chunks: Buffer[] = [];
    let heardAt = began;
    const heard = (): void => {
      const now = performance.now();
      this.longestStallMs = Math.max(this.longestStallMs, now - Math.max(heardAt, this.#measuredFrom));
      heardAt = now;
    };
    const { content, others = [], part } = this.#options;
    const expected = part ? content.subarray(part[0], part[1] + 1) : content;
    try {
      for await (const chunk of this.#body(() => this.#inFlight.get(number)!)) {
        heard();
        chunks.push(chunk);
        this.bytesReceived += chunk.length;
        this.#inFlight.set(number, this.#inFlight.get(number)! + chunk.length);
        if (this.#givesUp > 0) {
          this.#givesUp -= 1;
          return;
        }
        await this.#reading;
      }
      const body = Buffer.concat(chunks);
      if (![expected, ...others].some((one) => body.equals(one)))
        this.bytesLost += Math.max(1, expected.length - body.length);
      if (began > this.#markedAt) this.since += 1;
    } catch (error) {
      heard();
      this.failures.push(`${errorMessage(error)} (${systemErrorCode(error)})`);
      await sleep(pauseMs);
    } finally {
      this.#inFlight.delete(number);
    }
  }

  /** Reads a body, and goes on with it over another connection when the gateway is gone. `received`: its bytes so far. */
  async *#body(received: () => number): AsyncGenerator<Buffer> {
    const { path, content, part, keyMode } = this.#options;
    const [first, last] = part ?? [0, content.length - 1];
    for (;;) {
      const client = this.#client;
      const begin = first + received();
      const isPart = part !== undefined || begin > 0;
      const headers = isPart ? { ...sharing, range: `bytes=${begin}-${last}` } : sharing;
      try {
        const response = await this.#backends.request({ path, headers });
        if (response.status !== (isPart ? 206 : 200)) throw new Error(`status ${response.status}`);
        yield* response as AsyncIterable<Buffer>;
        return;
      } catch (error) {
        // The connection says a turn later that it is gone.
        await new Promise((resolve) => setImmediate(resolve));
        // A client with Multi-End has done so itself.
        if (keyMode !== undefined || this.#abandoned || (this.#open && this.#client === client)) throw error;
        await this.#redial(client);
      }
    }
  }

  /** As an edge does: the gateway of the connection is gone, and comes back. */
  async #elsewhere(request: ClientRequestOptions, lost: Http3Client): Promise<ClientResponse> {
    if (this.#abandoned) throw new Error('the downloads were abandoned');
    await this.#redial(lost);
    return this.#backends.request(request);
  }

  async #redial(lost: Http3Client): Promise<void> {
    if (this.#client === lost) await (this.#dialling ??= this.#dial().finally(() => (this.#dialling = undefined)));
  }

  /** With a session, requests may leave before the handshake is complete. */
  async #dial(session?: Buffer): Promise<void> {
    const deadline = performance.now() + dialMs;
    for (;;) {
      try {
        const { port, keyMode, idleTimeoutMs } = this.#options;
        const client = await connectHttp3({
          host: '127.0.0.1',
          port,
          alpn: ['h3'],
          insecure: true,
          ...(keyMode === undefined ? {} : { multiEnd: true, backendKeyModes: [keyMode] }),
          // A session is good for one connection, to a gateway that is there.
          connectTimeoutMs: session ? dialMs : 1_000,
          keepAliveMs: idleTimeoutMs === undefined ? 10_000 : idleTimeoutMs / 3,
          ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
          ...(session && { session, earlyRequests: true }),
        });
        if (this.#abandoned) {
          await client.close();
          throw new Error('the downloads were abandoned');
        }
        this.#client = client;
        this.#open = true;
        client.on('session', (ticket) => (this.#session = ticket));
        client.once('close', () => {
          if (this.#client === client) this.#open = false;
        });
        this.#backends = new BackendClient(client, { elsewhere: (request) => this.#elsewhere(request, client) });
        return;
      } catch (error) {
        if (this.#abandoned || performance.now() > deadline) throw error;
        await sleep(100);
      }
    }
  }
}

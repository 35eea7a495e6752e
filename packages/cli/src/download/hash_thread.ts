import { Worker } from 'node:worker_threads';

/** Bytes on their way to the thread; whoever has more waits. */
const maxAhead = 32 * 1024 * 1024;
/** Smaller chunks may share their memory with others: they are copied. */
const ownMemory = 32 * 1024;

/** For the thread: chunks of a body, or its end. */
export interface HashOrder {
  body: number;
  chunks: Uint8Array[];
  bytes: number;
  last: boolean;
}

/** From it: what it has taken, and at the end the hash. */
export interface HashNews {
  body: number;
  taken: number;
  sha256?: string;
}

/** A thread that hashes any number of bodies. It starts with the first one, and keeps no process alive once it has none. */
export class HashThread {
  private worker: Worker | undefined;
  private failure: Error | undefined;
  private bodies = 0;
  private ahead = 0;
  private waiting: Array<() => void> = [];
  private readonly ends = new Map<number, { resolve: (sha256: string) => void; reject: (error: Error) => void }>();

  begin(): number {
    this.worker ??= this.start();
    return (this.bodies += 1);
  }

  /** Takes the chunks' memory. Resolves when there is room for more. */
  async pass(body: number, chunks: Uint8Array[], bytes: number): Promise<void> {
    this.ahead += bytes;
    this.post({ body, chunks, bytes, last: false });
    while (this.ahead > maxAhead && !this.failure) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  async end(body: number): Promise<string> {
    if (this.failure) throw this.failure;
    return new Promise((resolve, reject) => {
      this.ends.set(body, { resolve, reject });
      this.worker?.ref();
      this.post({ body, chunks: [], bytes: 0, last: true });
    });
  }

  private post(order: HashOrder): void {
    const given = order.chunks.filter(({ byteLength }) => byteLength >= ownMemory).map(({ buffer }) => buffer as ArrayBuffer);
    this.worker?.postMessage(order, given);
  }

  private start(): Worker {
    // As it is compiled, also where tests run the sources.
    const worker = new Worker(new URL('../../dist/download/hash_worker.js', import.meta.url));
    worker.unref();
    worker.on('message', (news: HashNews) => this.onNews(news, worker));
    worker.on('error', (error) => {
      this.failure = error;
      for (const { reject } of this.ends.values()) reject(error);
      this.resume();
    });
    return worker;
  }

  private onNews({ body, taken, sha256 }: HashNews, worker: Worker): void {
    this.ahead -= taken;
    if (this.ahead <= maxAhead) this.resume();
    if (sha256 === undefined) return;
    this.ends.get(body)?.resolve(sha256);
    this.ends.delete(body);
    if (this.ends.size === 0) worker.unref();
  }

  private resume(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const tell of waiting) tell();
  }
}

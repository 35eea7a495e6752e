import { Worker } from 'node:worker_threads';

/** Of memory that both threads see, which serves again and again. */
export const pieceBytes = 1024 * 1024;
/** Pieces on their way to the thread; whoever has more waits. */
const maxAhead = 8;

/** For the thread: the next bytes of a body, or its end. It hashes in the order of these. */
export interface HashOrder {
  body: number;
  bytes?: Uint8Array;
}

/** From it: bytes are hashed, and their memory is free, or the hash of a body that ended. */
export interface HashNews {
  body: number;
  sha256?: string;
}

/** A thread that hashes any number of bodies. It starts with the first one, and keeps no process alive once it has none. */
export class HashThread {
  private worker: Worker | undefined;
  private failure: Error | undefined;
  private bodies = 0;
  /** With the thread, the first to come back in front. */
  private readonly ahead: Uint8Array[] = [];
  private readonly free: Uint8Array[] = [];
  private waiting: (() => void)[] = [];
  private readonly ends = new Map<number, { resolve: (sha256: string) => void; reject: (error: Error) => void }>();

  /** Memory of `pieceBytes` with whatever was in it. */
  takePiece(): Uint8Array {
    return this.free.pop() ?? new Uint8Array(new SharedArrayBuffer(pieceBytes));
  }

  /** The one that was there last is the one that the processor still has at hand. */
  giveBack({ buffer }: Uint8Array): void {
    this.free.push(new Uint8Array(buffer));
  }

  begin(): number {
    this.worker ??= this.start();
    return (this.bodies += 1);
  }

  /** Takes a piece, or the first part of one: nobody else may use it from now on. Resolves when there is room for more. */
  async pass(body: number, bytes: Uint8Array): Promise<void> {
    if (this.failure) throw this.failure;
    this.ahead.push(bytes);
    this.post({ body, bytes });
    while (this.ahead.length > maxAhead && !this.failure)
      await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  async end(body: number): Promise<string> {
    if (this.failure) throw this.failure;
    return new Promise((resolve, reject) => {
      this.ends.set(body, { resolve, reject });
      this.worker?.ref();
      this.post({ body });
    });
  }

  private post(order: HashOrder): void {
    this.worker?.postMessage(order);
  }

  private start(): Worker {
    // As it is compiled, also where tests run the sources.
    const worker = new Worker(new URL('../../dist/download/hash_worker.js', import.meta.url));
    worker.unref();
    worker.on('message', (news: HashNews) => this.onNews(news, worker));
    worker.on('error', (error) => this.fail(error));
    worker.on('exit', (code) => this.fail(new Error(`the thread that hashes ended with ${code}`)));
    return worker;
  }

  /** The first failure counts. */
  private fail(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.ends.values()) reject(this.failure);
    this.ends.clear();
    this.resume();
  }

  private onNews({ body, sha256 }: HashNews, worker: Worker): void {
    if (sha256 === undefined) {
      const hashed = this.ahead.shift();
      if (hashed) this.giveBack(hashed);
      return this.resume();
    }
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

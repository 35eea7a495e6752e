import { Worker } from 'node:worker_threads';

/** Size of a piece of memory that both threads share and use repeatedly */
export const pieceBytes = 1024 * 1024;
/** Maximum of pieces that wait for the thread */
const maxAhead = 8;

/** A message to the thread: the next bytes of a body, or its end. Messages are handled in order. */
export interface HashOrder {
  body: number;
  bytes?: Uint8Array;
}

/** A message from the thread: bytes were hashed and their memory is free, or the hash of a complete body */
export interface HashNews {
  body: number;
  sha256?: string;
}

/**
 * A thread that hashes any number of bodies. It starts with the first one. While it has none, it does not keep the
 * process alive.
 */
export class HashThread {
  private worker: Worker | undefined;
  private failure: Error | undefined;
  private bodies = 0;
  /** Pieces that the thread has, the first to return first */
  private readonly ahead: Uint8Array[] = [];
  private readonly free: Uint8Array[] = [];
  private waiting: (() => void)[] = [];
  private readonly ends = new Map<number, { resolve: (sha256: string) => void; reject: (error: Error) => void }>();

  /** Returns memory of `pieceBytes`, with arbitrary content. */
  takePiece(): Uint8Array {
    return this.free.pop() ?? new Uint8Array(new SharedArrayBuffer(pieceBytes));
  }

  /** Returns a piece. The piece returned last is used next, since it is still in the processor's cache. */
  giveBack({ buffer }: Uint8Array): void {
    this.free.push(new Uint8Array(buffer));
  }

  begin(): number {
    this.worker ??= this.start();
    return (this.bodies += 1);
  }

  /**
   * Passes a piece, or its first part, to the thread. Nobody else may use it after that. Resolves when there is room
   * for more.
   */
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
    // Uses the compiled file, even in tests that run the sources.
    const worker = new Worker(new URL('../../dist/download/hash_worker.js', import.meta.url));
    worker.unref();
    worker.on('message', (news: HashNews) => this.onNews(news, worker));
    worker.on('error', (error) => this.fail(error));
    worker.on('exit', (code) => this.fail(new Error(`the thread that hashes ended with ${code}`)));
    return worker;
  }

  /** Fails all bodies. Only the first failure counts. */
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

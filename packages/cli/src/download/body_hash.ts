import { createHash } from 'node:crypto';
import { HashThread } from './hash_thread.js';

/** Bodies up to here are hashed on this thread: another one costs more to start. */
const smallBody = 4 * 1024 * 1024;
/** Passed on at once. */
const batchBytes = 1024 * 1024;

/** The SHA-256 of a body; in another thread once it is large, as the connection's has enough to do. */
export class BodyHash {
  private chunks: Uint8Array[] = [];
  private bytes = 0;
  private body: number | undefined;

  constructor(private readonly thread: HashThread) {}

  /** The chunk's memory is given away: nobody else may use it from now on. Resolves when there is room for more. */
  async update(chunk: Uint8Array): Promise<void> {
    this.chunks.push(chunk);
    this.bytes += chunk.byteLength;
    if (this.bytes >= (this.body === undefined ? smallBody : batchBytes)) await this.passOn();
  }

  async digest(): Promise<string> {
    if (this.body === undefined) {
      const hash = createHash('sha256');
      for (const chunk of this.chunks) hash.update(chunk);
      return hash.digest('hex');
    }
    await this.passOn();
    return this.thread.end(this.body);
  }

  private async passOn(): Promise<void> {
    this.body ??= this.thread.begin();
    const { chunks, bytes } = this;
    this.chunks = [];
    this.bytes = 0;
    await this.thread.pass(this.body, chunks, bytes);
  }
}

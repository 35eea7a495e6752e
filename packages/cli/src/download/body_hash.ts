import { createHash } from 'node:crypto';
import { pieceBytes, type HashThread } from './hash_thread.js';

/** Number of pieces below which a body is hashed on this thread, since starting another thread costs more */
const smallBody = 4;

/**
 * Computes the SHA-256 of a body. Large bodies are hashed in another thread, since the connection's thread is busy
 * enough.
 */
export class BodyHash {
  /** Full pieces of a body that is still small */
  private full: Uint8Array[] = [];
  private piece: Uint8Array | undefined;
  /** Bytes of `piece` that belong to the body */
  private filled = 0;
  private body: number | undefined;

  constructor(private readonly thread: HashThread) {}

  /** Returns memory for the next bytes of the body. Nobody else may use it after `take` was called for it. */
  room(): Uint8Array {
    this.piece ??= this.thread.takePiece();
    return this.piece.subarray(this.filled);
  }

  /** Accepts the first `bytes` of `room()` as the next bytes of the body. Resolves when there is room for more. */
  async take(bytes: number): Promise<void> {
    this.filled += bytes;
    if (!this.piece || this.filled < pieceBytes) return;
    this.full.push(this.piece);
    this.piece = undefined;
    this.filled = 0;
    if (this.body === undefined && this.full.length < smallBody) return;
    this.body ??= this.thread.begin();
    for (const piece of this.full.splice(0)) await this.thread.pass(this.body, piece);
  }

  /** Copies the next bytes of the body. */
  async update(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.byteLength > 0;) {
      const room = this.room();
      const part = rest.subarray(0, room.byteLength);
      room.set(part);
      rest = rest.subarray(part.byteLength);
      await this.take(part.byteLength);
    }
  }

  async digest(): Promise<string> {
    if (this.body !== undefined) {
      if (this.piece) await this.thread.pass(this.body, this.piece.subarray(0, this.filled));
      return this.thread.end(this.body);
    }
    const hash = createHash('sha256');
    for (const piece of this.full) hash.update(piece);
    if (this.piece) hash.update(this.piece.subarray(0, this.filled));
    for (const piece of [...this.full, ...(this.piece ? [this.piece] : [])]) this.thread.giveBack(piece);
    return hash.digest('hex');
  }
}

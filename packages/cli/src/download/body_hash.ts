import { createHash } from 'node:crypto';
import { pieceBytes, type HashThread } from './hash_thread.js';

/** Bodies of fewer pieces are hashed on this thread: another one costs more to start. */
const smallBody = 4;

/** The SHA-256 of a body; in another thread once it is large, as the connection's has enough to do. */
export class BodyHash {
  /** Of a body that is small so far. */
  private full: Uint8Array[] = [];
  private piece: Uint8Array | undefined;
  /** Bytes of `piece` that are the body's. */
  private filled = 0;
  private body: number | undefined;

  constructor(private readonly thread: HashThread) {}

  /** Memory for the next bytes of the body. Nobody else may use it once `take` was told of them. */
  room(): Uint8Array {
    this.piece ??= this.thread.takePiece();
    return this.piece.subarray(this.filled);
  }

  /** So many bytes at the start of `room()` are the next ones. Resolves when there is room for more. */
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

  /** Takes a copy of the next bytes. */
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

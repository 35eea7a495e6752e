import type { ReadableStream, ReadableStreamDefaultReader } from 'node:stream/web';
import { readVarint } from '@sheaf/web-client/protocol';
import { MediaError } from '../model/media_error.js';
import { violation } from './cursor.js';
import { MOQ_LIMITS } from './messages.js';

/** Bytes that incomplete frames and messages of one session may hold at one time */
export class Allowance {
  #used = 0;

  constructor(private readonly limit: number) {}

  /** @throws MediaError `too_large` */
  take(bytes: number): void {
    if (this.#used + bytes > this.limit)
      throw new MediaError('too_large', `incomplete frames of a session need more than ${this.limit} bytes`);
    this.#used += bytes;
  }

  giveBack(bytes: number): void {
    this.#used -= bytes;
  }
}

/** Reads integers, messages and frames from a stream. It holds only what has come of the piece that is wanted. */
export class ByteReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #pieces: Uint8Array[] = [];
  #held = 0;
  /** Why this side reads no more */
  #cancelled: MediaError | undefined;

  constructor(
    stream: ReadableStream<Uint8Array>,
    private readonly allowance: Allowance,
  ) {
    this.#reader = stream.getReader();
  }

  /** Returns the next integer, or undefined at the end of the stream. @throws MediaError, or what the stream fails with */
  async varint(): Promise<number | undefined> {
    if (!(await this.#fill(1))) return undefined;
    const length = 1 << (this.#pieces[0]![0]! >> 6);
    if (!(await this.#fill(length))) throw violation('a stream ends within an integer');
    const bytes = this.#take(length);
    try {
      return readVarint(bytes, 0)!.value;
    } catch {
      throw violation('an integer is above 2^53 - 1');
    }
  }

  /** Returns the bytes of the next message behind its length, or undefined at the end of the stream. */
  async message(): Promise<Uint8Array | undefined> {
    const length = await this.varint();
    if (length === undefined) return undefined;
    if (length > MOQ_LIMITS.message) throw violation(`a message has ${length} bytes`);
    return this.bytes(length);
  }

  /** Returns a message that has to come. */
  async requiredMessage(): Promise<Uint8Array> {
    const message = await this.message();
    if (message === undefined) throw violation('a stream ends before its message');
    return message;
  }

  async bytes(length: number): Promise<Uint8Array> {
    if (!(await this.#fill(length))) throw violation('a stream ends within a message or frame');
    return this.#take(length);
  }

  /** Gives memory back, and tells the peer that nothing more is read. */
  cancel(error: MediaError): void {
    this.#cancelled ??= error;
    this.#release();
    this.#reader.cancel(error).catch(() => undefined);
  }

  #release(): void {
    this.allowance.giveBack(this.#held);
    this.#held = 0;
    this.#pieces = [];
  }

  /** Reads until this many bytes are held. Returns false when the stream ends before. */
  async #fill(length: number): Promise<boolean> {
    while (this.#held < length) {
      const { done, value } = await this.#reader.read();
      // What ends within a message then is no fault of the peer.
      if (this.#cancelled) throw this.#cancelled;
      if (done) {
        if (this.#held > 0) throw violation('a stream ends within a message or frame');
        return false;
      }
      if (value.length === 0) continue;
      this.allowance.take(value.length);
      this.#held += value.length;
      this.#pieces.push(value);
    }
    return true;
  }

  #take(length: number): Uint8Array {
    const taken = this.#join(length);
    this.#held -= length;
    this.allowance.giveBack(length);
    return taken;
  }

  #join(length: number): Uint8Array {
    if (length === 0) return new Uint8Array();
    const first = this.#pieces[0]!;
    if (first.length >= length) {
      if (first.length === length) this.#pieces.shift();
      else this.#pieces[0] = first.subarray(length);
      return first.subarray(0, length);
    }
    const joined = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const piece = this.#pieces[0]!;
      const part = piece.subarray(0, length - filled);
      joined.set(part, filled);
      filled += part.length;
      if (part.length === piece.length) this.#pieces.shift();
      else this.#pieces[0] = piece.subarray(part.length);
    }
    return joined;
  }
}

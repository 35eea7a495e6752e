import { BackboneViolation } from './byte_fields.js';
import { decodeMessage, maxMessage, type BackboneMessage } from './messages.js';

const lengthBytes = 4;

/** Splits a stream into messages. Holds at most one incomplete message. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0);

  /** Returns the messages that these bytes complete. @throws BackboneViolation */
  *read(chunk: Buffer): Generator<BackboneMessage> {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (this.#pending.length >= lengthBytes) {
      const length = this.#pending.readUInt32BE(0);
      if (length === 0 || length > maxMessage)
        throw new BackboneViolation(`a message of ${length} bytes is not allowed`);
      const end = lengthBytes + length;
      if (this.#pending.length < end) return;
      // Copies the bytes, so that a message neither keeps the chunk alive nor shares it.
      const bytes = Buffer.from(this.#pending.subarray(lengthBytes, end));
      this.#pending = this.#pending.subarray(end);
      yield decodeMessage(bytes);
    }
  }
}

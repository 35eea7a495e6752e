import { BackboneViolation } from './byte_fields.js';
import { decodeMessage, maxMessage, type BackboneMessage } from './messages.js';

const lengthBytes = 4;

/** Takes a stream apart into messages. Holds one message that is not whole yet at most. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0);

  /** The messages that are whole with these bytes. @throws BackboneViolation */
  *read(chunk: Buffer): Generator<BackboneMessage> {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (this.#pending.length >= lengthBytes) {
      const length = this.#pending.readUInt32BE(0);
      if (length === 0 || length > maxMessage)
        throw new BackboneViolation(`a message of ${length} bytes is not allowed`);
      const end = lengthBytes + length;
      if (this.#pending.length < end) return;
      // A copy: what a message refers to must not keep or share the chunk.
      const bytes = Buffer.from(this.#pending.subarray(lengthBytes, end));
      this.#pending = this.#pending.subarray(end);
      yield decodeMessage(bytes);
    }
  }
}

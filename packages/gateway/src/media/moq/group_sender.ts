import type { WebTransportSendStream } from '@sheaf/native';
import type { Group } from '../model/group.js';
import type { MediaError } from '../model/media_error.js';
import { SentBytes } from './sent_bytes.js';

/** Sends one group on a stream of its own, as its frames come. */
export class GroupSender {
  readonly #sent: SentBytes;
  #over = false;

  constructor(
    private readonly stream: WebTransportSendStream,
    readonly group: Group,
  ) {
    this.#sent = new SentBytes(stream);
  }

  setUrgency(urgency: number): void {
    if (!this.#over) this.stream.setPriority({ urgency, incremental: false });
  }

  /** Sends the head and all frames. Resolves when the group has ended, was stopped, or the viewer does not want it. */
  async run(head: Uint8Array): Promise<void> {
    try {
      await this.#sent.write(head);
      for (let index = 0; !this.#over; index += 1) {
        const frame = await this.group.frame(index, this.#sent.over);
        if (frame === undefined) break;
        await this.#sent.write(frame.record);
      }
      if (!this.#over) this.#sent.end();
    } catch {
      if (this.group.error) this.#sent.reset(this.group.error);
    } finally {
      this.#over = true;
    }
  }

  /** Ends the group for this viewer before all of it was sent. */
  stop(error: MediaError): void {
    if (this.#over) return;
    this.#over = true;
    this.#sent.reset(error);
  }
}

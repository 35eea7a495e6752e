import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';
import type { MessagePort } from 'node:worker_threads';
import { Wakeup } from '@sheaf/web-client/wakeup';
import { MediaError } from '../model/media_error.js';
import type { MoqBidirectionalStream, MoqTransport } from '../moq/moq_transport.js';
import type { PortMessage } from './port_message.js';
import { ReceivingHalf } from './receiving_half.js';
import { SendingHalf } from './sending_half.js';
import { SendWindow } from './send_window.js';

/** Bytes on their way to the other end, beside one piece that exceeds them */
const maxUnread = 1_024 * 1_024;

/**
 * Requests that this end has open at one time, and groups. Each track that crosses needs a request for as long as it is read, and a
 * stream for each of its groups.
 */
const maxStreams = 8_192;

type CloseReason = Awaited<MoqTransport['closed']>;
type SendStream = SendingHalf['stream'];

/** A session with another thread of this process. It ends when the port is closed, or the other thread ends. */
export class PortSession implements MoqTransport {
  readonly closed: MoqTransport['closed'];
  readonly incomingBidirectionalStreams: ReadableStream<MoqBidirectionalStream>;
  readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
  readonly #window = new SendWindow(maxUnread);
  readonly #sending = new Map<number, SendingHalf>();
  readonly #receiving = new Map<number, ReceivingHalf>();
  /** Halves that are not over yet, of each stream that this end opened. Requests take no place of groups, nor groups one of requests. */
  readonly #requests = new Map<number, number>();
  readonly #groups = new Map<number, number>();
  readonly #changed = new Wakeup();
  #acceptBoth!: ReadableStreamDefaultController<MoqBidirectionalStream>;
  #acceptOne!: ReadableStreamDefaultController<ReadableStream<Uint8Array>>;
  #next: number;
  #over = false;
  /** What ended it, if this end did */
  #reason: CloseReason = { closeCode: 0, reason: '' };

  constructor(
    private readonly port: MessagePort,
    isFirst: boolean,
  ) {
    this.#next = isFirst ? 0 : 1;
    this.incomingBidirectionalStreams = new ReadableStream({
      start: (controller) => void (this.#acceptBoth = controller),
    });
    this.incomingUnidirectionalStreams = new ReadableStream({
      start: (controller) => void (this.#acceptOne = controller),
    });
    this.closed = new Promise((resolve) => {
      port.once('close', () => {
        this.#end();
        resolve(this.#reason);
      });
    });
    port.on('message', (message: PortMessage) => this.#take(message));
    port.unref();
  }

  async createBidirectionalStream(): Promise<MoqBidirectionalStream> {
    const id = await this.#open(true);
    const readable = this.#receive(id);
    return bidirectional(readable, this.#send(id));
  }

  async createUnidirectionalStream(): Promise<SendStream> {
    return this.#send(await this.#open(false));
  }

  /** The other end learns only that it is over. */
  close(reason: Partial<CloseReason> = {}): void {
    this.#reason = { ...this.#reason, ...reason };
    this.port.close();
  }

  async #open(both: boolean): Promise<number> {
    const opened = both ? this.#requests : this.#groups;
    while (opened.size >= maxStreams && !this.#over) await this.#changed.wait();
    if (this.#over) throw gone();
    const id = this.#next;
    this.#next += 2;
    opened.set(id, both ? 2 : 1);
    this.#post({ opens: id, both });
    return id;
  }

  #send(id: number): SendStream {
    const half = new SendingHalf(
      id,
      (message) => this.#post(message),
      this.#window,
      () => this.#sending.delete(id),
    );
    this.#sending.set(id, half);
    return half.stream;
  }

  #receive(id: number): ReadableStream<Uint8Array> {
    const half = new ReceivingHalf({
      onRead: (bytes) => this.#post({ read: bytes }),
      onCancel: () => this.#leave(id),
    });
    this.#receiving.set(id, half);
    return half.stream;
  }

  #take(message: PortMessage): void {
    if ('opens' in message) this.#accept(message.opens, message.both);
    else if ('bytes' in message) {
      const half = this.#receiving.get(message.stream);
      if (half) half.push(message.bytes);
      else this.#post({ read: message.bytes.length });
    } else if ('read' in message) this.#window.giveBack(message.read);
    else if ('leaves' in message) {
      this.#sending.get(message.leaves)?.fail(new MediaError('cancelled', 'the other worker wants no more of it'));
      this.#sending.delete(message.leaves);
      this.#finish(message.leaves);
    } else if ('ends' in message) this.#leave(message.ends)?.end();
    else this.#leave(message.resets)?.fail(new MediaError('cancelled', 'the other worker has ended the stream'));
  }

  #accept(id: number, both: boolean): void {
    const readable = this.#receive(id);
    if (both) this.#acceptBoth.enqueue(bidirectional(readable, this.#send(id)));
    else this.#acceptOne.enqueue(readable);
  }

  /** Takes no more bytes of a stream. Returns its half, unless it was left before. */
  #leave(id: number): ReceivingHalf | undefined {
    const half = this.#receiving.get(id);
    if (!half) return undefined;
    this.#receiving.delete(id);
    this.#post({ leaves: id });
    this.#finish(id);
    return half;
  }

  /** Notes that one half of a stream is over. */
  #finish(id: number): void {
    const opened = this.#requests.has(id) ? this.#requests : this.#groups;
    const left = opened.get(id);
    if (left === undefined) return;
    if (left > 1) opened.set(id, left - 1);
    else {
      opened.delete(id);
      this.#changed.notify();
    }
  }

  #post(message: PortMessage): void {
    this.port.postMessage(message, 'bytes' in message ? [message.bytes.buffer as ArrayBuffer] : []);
  }

  #end(): void {
    this.#over = true;
    this.#changed.notify();
    this.#acceptBoth.close();
    this.#acceptOne.close();
    for (const half of [...this.#sending.values(), ...this.#receiving.values()]) half.fail(gone());
  }
}

function bidirectional(readable: ReadableStream<Uint8Array>, writable: SendStream): MoqBidirectionalStream {
  return { readable, writable, setPriority: () => undefined };
}

function gone(): MediaError {
  return new MediaError('cancelled', 'the other worker is gone');
}

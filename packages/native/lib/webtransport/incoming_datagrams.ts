import type { ReadableStream } from 'node:stream/web';
import { WaitingItems } from './waiting_items.js';

/** Maximum number of datagrams that wait while an application reads slowly or not at all. */
const maxWaiting = 256;
const maxWaitingBytes = 256 * 1024;

/**
 * Datagrams that arrived and have not been read. Beyond the bounds the oldest are dropped, as they are the least fresh.
 */
export class IncomingDatagrams {
  private bytes = 0;
  private droppedSoFar = 0;
  private readonly items = new WaitingItems<Uint8Array, Uint8Array>(
    (datagram) => {
      this.bytes -= datagram.byteLength;
      return datagram;
    },
    (datagram) => {
      this.bytes -= datagram.byteLength;
    },
  );

  get readable(): ReadableStream<Uint8Array> {
    return this.items.readable;
  }

  get dropped(): number {
    return this.droppedSoFar;
  }

  add(datagram: Uint8Array): void {
    this.bytes += datagram.byteLength;
    this.items.add(datagram);
    while (this.items.length > maxWaiting || (this.bytes > maxWaitingBytes && this.items.length > 0)) {
      this.bytes -= this.items.drop(() => true)!.byteLength;
      this.droppedSoFar += 1;
    }
  }

  end(): void {
    this.items.end();
  }
}

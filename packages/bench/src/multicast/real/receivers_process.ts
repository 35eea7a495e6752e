// The receivers of one host of `bench multicast --real`: one process for all of them, with a connection and a socket each.
import { once } from 'node:events';
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { errorMessage } from '@sheaf/gateway/client';
import { readPart } from '@sheaf/gateway/publication';
import { connectHttp3, watchChannel, type Http3Client, type ReceivedGroup, type WatchedChannel } from '@sheaf/native';
import { serveCalls } from '../../process/called_process.js';

/** What a receiver has to do */
export interface ReceiverTask {
  host: string;
  port: number;
  /** The channel, or the file that is downloaded */
  path: string;
  way: 'channel' | 'download';
  /** Path of the file that it writes */
  copy: string;
}

export type ReceiversCall =
  /** Connects, and joins the channel. Answered once each hears the group. */
  | { type: 'join'; tasks: ReceiverTask[] }
  /** Answered once each has the whole file, which can be sent several times. */
  | { type: 'receive' };

/** Resolves once the file is there. */
type Receive = () => Promise<void>;
let receivers: Receive[] = [];

serveCalls<ReceiversCall>(async (call) => {
  switch (call.type) {
    case 'join':
      receivers = await Promise.all(call.tasks.map(join));
      return;
    case 'receive':
      await Promise.all(receivers.map((receive) => receive()));
  }
});

async function join({ host, port, path, way, copy }: ReceiverTask): Promise<Receive> {
  const client = await connectHttp3({
    host,
    port,
    alpn: ['h3'],
    insecure: true,
    datagrams: true,
    keepAliveMs: 10_000,
  });
  if (way === 'download') return () => download(client, path, copy);
  const channel = await watchChannel(client, { path });
  const publications = new Publications(channel, copy);
  // A receiver that hears the group has its keys. It gets the file's first packet as any other.
  while (channel.state !== 'receiving') await once(channel, 'state');
  return () => publications.next();
}

async function download(client: Http3Client, path: string, copy: string): Promise<void> {
  const response = await client.request({ path });
  if (response.status !== 200) throw new Error(`${path}: status ${response.status}`);
  const file = openSync(copy, 'w');
  const buffer = Buffer.allocUnsafeSlow(256 * 1024);
  for (let read = await response.readInto(buffer); read > 0; read = await response.readInto(buffer))
    writeSync(file, buffer, 0, read);
  closeSync(file);
}

/** The files that a channel publishes, one after the other. Parts of one may arrive in any order. */
class Publications {
  readonly #file: number;
  #id: string | undefined;
  #written = 0;
  #bytes: number | undefined;
  #whole = 0;
  #asked = 0;
  #failure: Error | undefined;
  #wake = (): void => undefined;

  constructor(channel: WatchedChannel, copy: string) {
    this.#file = openSync(copy, 'w');
    channel.on('group', (group) => {
      this.#take(group)
        .catch((error: unknown) => (this.#failure ??= new Error(errorMessage(error))))
        .finally(() => this.#wake());
    });
    channel.once('close', (reason) => {
      this.#failure ??= new Error(`the channel ended: ${reason ?? 'its source is gone'}`);
      this.#wake();
    });
  }

  /** Resolves once the next file is whole. */
  async next(): Promise<void> {
    this.#asked += 1;
    while (this.#whole < this.#asked) {
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async #take(group: ReceivedGroup): Promise<void> {
    const { head, bytes } = await readPart(group);
    if (head.id !== this.#id) this.#begin(head.id);
    this.#bytes ??= head.end?.bytes;
    let { offset } = head;
    for await (const piece of bytes) {
      writeSync(this.#file, piece, 0, piece.length, offset);
      offset += piece.length;
      this.#written += piece.length;
    }
    if (this.#written !== this.#bytes) return;
    this.#whole += 1;
    // Another part may just have been written, too.
    this.#bytes = undefined;
  }

  #begin(id: string): void {
    ftruncateSync(this.#file);
    this.#id = id;
    this.#written = 0;
    this.#bytes = undefined;
  }
}

// The receivers of one host of `bench multicast --real`: one process for all of them, with a connection and a socket each.
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { readPart } from '@sheaf/gateway/publication';
import { connectHttp3, watchChannel, type Http3Client, type ReceivedGroup, type WatchedChannel } from '@sheaf/native';
import { serveCalls } from '../../process/called_process.js';

/** What a receiver has to do */
export interface ReceiverTask {
  host: string;
  port: number;
  /** Of the channel, or of the file that is downloaded */
  path: string;
  way: 'channel' | 'download';
  /** Path of the file that it writes */
  copy: string;
}

export type ReceiversCall =
  /** Connects, and joins the channel. Answered once each hears the group. */
  | { type: 'join'; tasks: ReceiverTask[] }
  /** Answered once each has the whole file. */
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
  const whole = new Publication(channel, copy);
  // A receiver that hears the group has its keys. It gets the file's first packet as any other.
  while (channel.state !== 'receiving') await once(channel, 'state');
  return () => whole.complete;
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

/** The file that a channel publishes. Its parts may arrive in any order. */
class Publication {
  readonly complete: Promise<void>;
  readonly #file: number;
  #written = 0;
  #bytes: number | undefined;

  constructor(channel: WatchedChannel, copy: string) {
    this.#file = openSync(copy, 'w');
    this.complete = new Promise((resolve, reject) => {
      channel.on('group', (group) => {
        this.#take(group).then((whole) => {
          if (whole) resolve();
        }, reject);
      });
      channel.once('close', (reason) => reject(new Error(`the channel ended: ${reason ?? 'its source is gone'}`)));
    });
    this.complete.catch(() => undefined);
  }

  /** Writes a part. Returns whether the file is whole now. */
  async #take(group: ReceivedGroup): Promise<boolean> {
    const { head, bytes } = await readPart(group);
    this.#bytes ??= head.end?.bytes;
    let { offset } = head;
    for await (const piece of bytes) {
      writeSync(this.#file, piece, 0, piece.length, offset);
      offset += piece.length;
      this.#written += piece.length;
    }
    if (this.#written !== this.#bytes) return false;
    closeSync(this.#file);
    return true;
  }
}

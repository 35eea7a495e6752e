// The gateway of `bench multicast --real`, in a process of its own on the source's host. It publishes as `sheaf publish` does.
import '@sheaf/gateway/heap';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { adminHeader, parseConfiguration, startNodes } from '@sheaf/gateway';
import { serveCalls } from '../../process/called_process.js';
import { write } from '../../process/write.js';

export type SourceCall =
  | { type: 'start'; configuration: string; file: string }
  /** Sends a file on a channel. Answered once the channel has taken all of it. */
  | { type: 'publish'; channel: string; admin: string; file: string };

serveCalls<SourceCall>(async (call) => {
  switch (call.type) {
    case 'start':
      await startNodes(parseConfiguration(call.configuration, call.file).nodes);
      return;
    case 'publish':
      await publish(call);
  }
});

/** Bytes that are read and sent together */
const pieceBytes = 256 * 1024;

async function publish({ channel, admin, file }: Extract<SourceCall, { type: 'publish' }>): Promise<void> {
  const opened = await open(file);
  try {
    const { size } = await opened.stat();
    const sent = request(`http://${admin}/channels/${channel}?name=file`, {
      method: 'POST',
      headers: { [adminHeader]: '1', 'content-length': size },
    });
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    // One piece after the other, in the same memory: the process is the gateway, too, which would clear what a stream leaves.
    const piece = Buffer.allocUnsafeSlow(pieceBytes);
    for (let at = 0; at < size;) {
      const { bytesRead } = await opened.read(piece, 0, piece.length, at);
      await write(sent, piece.subarray(0, bytesRead));
      at += bytesRead;
    }
    sent.end();
    const [{ statusCode }] = await answered;
    if (statusCode !== 200) throw new Error(`publishing was answered with ${statusCode}`);
  } finally {
    await opened.close();
  }
}

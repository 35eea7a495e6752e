// The gateway of `bench multicast --real`, in a process of its own on the source's host. It publishes as `sheaf publish` does.
import '@sheaf/gateway/heap';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { adminHeader, parseConfiguration, startNodes } from '@sheaf/gateway';
import { serveCalls } from '../../process/called_process.js';

export type SourceCall =
  | { type: 'start'; configuration: string; file: string }
  /** Sends a file on a channel. Answered once the channel has taken all of it. */
  | { type: 'publish'; channel: string; admin: string; file: string };

serveCalls<SourceCall>(async (call) => {
  switch (call.type) {
    case 'start':
      await startNodes(parseConfiguration(call.configuration, call.file).nodes);
      return;
    case 'publish': {
      const sent = request(`http://${call.admin}/channels/${call.channel}?name=file`, {
        method: 'POST',
        headers: { [adminHeader]: '1' },
      });
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
      await pipeline(createReadStream(call.file), sent);
      const [{ statusCode }] = await answered;
      if (statusCode !== 200) throw new Error(`publishing was answered with ${statusCode}`);
    }
  }
});

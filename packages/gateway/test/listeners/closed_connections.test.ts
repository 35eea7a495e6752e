import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startGateway } from '../support/gateway.js';
import { startUpstream } from '../support/upstream.js';

const connections = 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns weak references to the sockets that servers of this process accept from now on. */
function watchAccepted(): WeakRef<Socket>[] {
  const accepted: WeakRef<Socket>[] = [];
  const note = (message: unknown): void => void accepted.push(new WeakRef((message as { socket: Socket }).socket));
  subscribe('net.server.socket', note);
  onTestFinished(() => void unsubscribe('net.server.socket', note));
  return accepted;
}

it('a connection that ends in the middle of a body is forgotten', async () => {
  const upstream = await startUpstream((request) => void request.on('error', () => undefined).resume());
  const { port } = await startGateway(`routes: [{ path: /, upstream: "${upstream.origin}" }]`);
  const accepted = watchAccepted();
  const clients = Array.from({ length: connections }, () =>
    connect({ host: '127.0.0.1', port, rejectUnauthorized: false }),
  );
  await Promise.all(clients.map((client) => once(client, 'secureConnect')));
  for (const client of clients)
    client.on('error', () => undefined).write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n12345');
  // Those of the gateway's clients and of the upstream
  await vi.waitFor(() => expect(accepted.length).toBe(2 * connections), 30_000);
  for (const client of clients) client.destroy();
  await vi.waitFor(() => {
    collectGarbage();
    // V8 may still hold a few on its stack.
    expect(accepted.filter((socket) => socket.deref()).length).toBeLessThan(connections / 4);
  }, 30_000);
});

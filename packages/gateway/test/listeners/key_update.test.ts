import { once } from 'node:events';
import { createHttp3Server, type KeyControl, type ServerConnection } from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { ask, connect } from '../support/http3_client.js';

async function startBoth() {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({
    address: '0.0.0.0',
    port: 0,
    alpn: ['h3'],
    certificate,
    pathScheduler: 'round-robin',
  });
  server.on('request', (_request, response) => response.end(Buffer.alloc(1_000_000)));
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  const accepted = once(server, 'connection') as Promise<[ServerConnection]>;
  const client = await connect(port, { localAddress: '127.0.0.1' });
  const [connection] = await accepted;
  await client.openPath({ local: '127.0.0.2' });
  return { client, connection };
}

describe('keys', () => {
  it.each(['client', 'server'] as const)(
    'are replaced by the %s in the middle of a download over two paths',
    async (side) => {
      const { client, connection } = await startBoth();
      const initiator: KeyControl = side === 'client' ? client : connection;
      expect([client.status().keyUpdates, connection.status().keyUpdates]).toEqual([0, 0]);
      for (const count of [1, 2, 3]) {
        const download = ask(client, { path: '/' });
        // Only once the peer has acknowledged the keys before with those same keys.
        await vi.waitFor(() => expect(initiator.updateKeys()).toBe(true), { timeout: 30_000, interval: 5 });
        expect(initiator.updateKeys()).toBe(false);
        expect((await download).body).toHaveLength(1_000_000);
        await vi.waitFor(
          () => expect([client.status().keyUpdates, connection.status().keyUpdates]).toEqual([count, count]),
          30_000,
        );
      }
      expect(client.status().state).toBe('established');
    },
  );

  it('of a connection that is closed stay as they are', async () => {
    const { client, connection } = await startBoth();
    await client.close();
    await vi.waitFor(() => expect(connection.updateKeys()).toBe(false), 30_000);
    expect(() => client.updateKeys()).toThrow('closed');
  });
});

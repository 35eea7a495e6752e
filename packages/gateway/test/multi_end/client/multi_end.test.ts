import { once } from 'node:events';
import { Readable } from 'node:stream';
import { BACKEND_LOST, type ImportedConnection } from '@sheaf/native';
import { describe, expect, it, vi } from 'vitest';
import { BackendClient } from '../../../src/multi_end/client/backend_client.js';
import { RouteMapCache } from '../../../src/multi_end/client/route_map_cache.js';
import { collect } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { handOver, joinBackend, patternBytes, startSite, type Site } from '../../support/multi_end_site.js';

async function nameOf(site: Site, backend?: number): Promise<unknown> {
  const { headers } = await ask(site.client, { path: '/10', ...(backend === undefined ? {} : { backend }) });
  return headers['server-name'];
}

/** What arrived of a response, and how it ended. */
async function drain(response: AsyncIterable<unknown>): Promise<{ received: number; error: unknown }> {
  let received = 0;
  try {
    for await (const chunk of response) received += (chunk as Buffer).length;
  } catch (error) {
    return { received, error };
  }
  return { received, error: undefined };
}

const lost = expect.objectContaining({ code: 'BACKEND_LOST', errorCode: BACKEND_LOST }) as unknown;

describe('requests', () => {
  it('are answered by the server that they are for', async () => {
    const site = await startSite();
    await joinBackend(site, 0);
    await joinBackend(site, 1);
    const names = await Promise.all([nameOf(site, 0), nameOf(site), nameOf(site, 1), nameOf(site), nameOf(site, 0)]);
    expect(names).toEqual(['backend0', 'primary', 'backend1', 'primary', 'backend0']);
  });

  it("say at the backend who asks, and that the connection is another server's", async () => {
    const site = await startSite({ backends: 1 });
    const imported = await joinBackend(site, 0);
    const asked = once(site.backends[0]!.server, 'request');
    await nameOf(site, 0);
    const [request] = (await asked) as [{ connection: ImportedConnection; remoteAddress: object }];
    expect(request.connection).toBe(imported);
    expect(request.remoteAddress).toMatchObject({
      address: '127.0.0.1',
      port: site.client.status().paths[0]!.local.port,
    });
  });

  it.each(['per-path', 'shared'] as const)(
    'carry 1 MB down and 10 MB up past the primary, with %s keys',
    async (mode) => {
      const site = await startSite({ backendKeyModes: [mode] });
      await joinBackend(site, 0);
      await joinBackend(site, 1);
      const before = site.primary.server.counters();
      const [down, up] = await Promise.all([
        ask(site.client, { path: '/1000000', backend: 0 }),
        ask(site.client, { path: '/', method: 'POST', body: patternBytes(10_000_000), backend: 1 }),
      ]);
      expect(down.body.equals(patternBytes(1_000_000))).toBe(true);
      expect(up.body.toString()).toBe('10000000');
      expect(site.backends[1]!.uploaded).toBe(10_000_000);
      const after = site.primary.server.counters();
      expect(after.bytesReceived - before.bytesReceived + after.bytesSent - before.bytesSent).toBeLessThan(200_000);
    },
  );

  it('of ten megabytes come from a backend that asks its primary for credit', async () => {
    const site = await startSite({ backends: 1 });
    await joinBackend(site, 0);
    const { body } = await ask(site.client, { path: '/10000000', backend: 0 });
    expect(body.equals(patternBytes(10_000_000))).toBe(true);
    expect(site.connection.status().backends[0]!.lease!.granted).toBeGreaterThanOrEqual(10_000_000);
  });

  it('are served by the primary while many backends hold leases and do nothing', async () => {
    const site = await startSite({ backends: 1 });
    for (let backend = 0; backend < 6; backend += 1) await joinBackend(site, backend, site.backends[0]);
    expect((await ask(site.client, { path: '/10000000' })).body).toHaveLength(10_000_000);
    expect(await nameOf(site, 5)).toBe('backend0');
  });

  it('find the backend open once its path is validated', async () => {
    const site = await startSite({ backends: 1 });
    await handOver(site, 0, site.backends[0]!);
    const states = [site.client.status().backends[0]!.state];
    const opened = site.client.openBackend(0);
    states.push(site.client.status().backends[0]!.state);
    await opened;
    expect([...states, site.client.status().backends[0]!.state]).toEqual(['offered', 'opening', 'open']);
  });

  it('are refused where no path to the backend is open', async () => {
    const site = await startSite({ backends: 1 });
    await expect(nameOf(site, 0)).rejects.toMatchObject({ code: 'BACKEND_REFUSED' });
    await expect(site.client.openBackend(0)).rejects.toMatchObject({ code: 'BACKEND_REFUSED' });
    await joinBackend(site, 0);
    await expect(site.client.openBackend(0)).rejects.toMatchObject({ code: 'BACKEND_REFUSED' });
  });
});

describe('keys', () => {
  it.each([
    ['per-path', 'client'],
    ['per-path', 'connection'],
    ['shared', 'client'],
  ] as const)('%s: are replaced by the %s while all servers send', async (mode, side) => {
    const site = await startSite({ backendKeyModes: [mode] });
    await joinBackend(site, 0);
    await joinBackend(site, 1);
    for (let round = 1; round <= 2; round += 1) {
      const downloads = [undefined, 0, 1].map((backend) =>
        ask(site.client, { path: '/1000000', ...(backend === undefined ? {} : { backend }) }),
      );
      await vi.waitFor(() => expect(site[side].updateKeys()).toBe(true), { timeout: 30_000, interval: 5 });
      for (const { body } of await Promise.all(downloads)) expect(body.equals(patternBytes(1_000_000))).toBe(true);
      await vi.waitFor(() => expect(site[side].status().keyUpdates).toBeGreaterThanOrEqual(round), 30_000);
    }
  });

  it('that servers share are left to the client to replace', async () => {
    const site = await startSite({ backendKeyModes: ['shared'], backends: 1 });
    await joinBackend(site, 0);
    await ask(site.client, { path: '/100000' });
    expect(site.connection.updateKeys()).toBe(false);
    await vi.waitFor(() => expect(site.client.updateKeys()).toBe(true), { timeout: 30_000, interval: 5 });
  });
});

describe('a backend', () => {
  it('that is withdrawn to drain finishes what it has, gives its credit back, and can come again', async () => {
    const site = await startSite();
    const imported = await joinBackend(site, 0);
    const download = ask(site.client, { path: '/3000000', backend: 0 });
    await vi.waitFor(() => expect(site.client.status().backends[0]!.bytesReceived).toBeGreaterThan(20_000), 30_000);
    const withdrawn = once(site.client, 'backendWithdrawn');
    const drained = once(imported, 'drained');
    site.connection.withdrawBackend(0, 'drains');
    imported.drain();
    expect((await withdrawn)[0]).toMatchObject({ backend: 0, reason: 'drains' });
    await expect(nameOf(site, 0)).rejects.toMatchObject({ code: 'BACKEND_REFUSED' });
    expect((await download).body).toHaveLength(3_000_000);
    await drained;
    await vi.waitFor(() => expect(site.connection.status().backends[0]!.lease!.returned).toBeGreaterThan(0), 30_000);
    const [left, gone] = [once(site.connection, 'backendPathAbandoned'), once(imported, 'close')];
    site.connection.withdrawBackend(0, 'gone');
    expect((await left)[0]).toBe(0);
    await gone;
    await joinBackend(site, 0, site.backends[1]);
    expect(await nameOf(site, 0)).toBe('backend1');
  });

  it('whose path was abandoned a moment ago refuses requests before it is heard of', async () => {
    const site = await startSite({ backends: 1 });
    await joinBackend(site, 0);
    site.client.abandonPath(site.client.status().backends[0]!.path);
    await expect(site.client.request({ path: '/10', backend: 0 })).rejects.toMatchObject({ code: 'BACKEND_REFUSED' });
    expect(await nameOf(site)).toBe('primary');
  });

  it('that drains before its client knows has bodies that stream sent to the primary, whole', async () => {
    const site = await startSite({ backends: 1 });
    const routes = Object.assign(new RouteMapCache(), { backendsFor: () => [0], load: () => Promise.resolve() });
    const client = new BackendClient(site.client, { routes });
    const imported = await handOver(site, 0, site.backends[0]!);
    await client.ready(60_000);
    const post = async (): Promise<unknown[]> => {
      const body = Readable.from([patternBytes(9_000).subarray(0, 4_000), patternBytes(9_000).subarray(4_000)]);
      const response = await client.request({ path: '/', method: 'POST', body });
      return [response.headers['server-name'], (await collect(response)).toString()];
    };
    expect(await post()).toEqual(['backend0', '9000']);
    imported.drain();
    expect(await post()).toEqual(['primary', '9000']);
    expect(site.primary.uploaded).toBe(9_000);
  });

  it('that is withdrawn as gone loses its requests at once', async () => {
    const site = await startSite({ backends: 1 });
    await joinBackend(site, 0);
    // Nobody reads yet, so that it cannot be there as a whole before the backend is gone.
    const response = await site.client.request({ path: '/50000000', backend: 0 });
    await vi.waitFor(() => expect(site.client.status().backends[0]!.bytesReceived).toBeGreaterThan(20_000), 30_000);
    const told = once(site.client, 'backendLost');
    site.connection.withdrawBackend(0, 'gone');
    expect((await told)[0]).toMatchObject({ backend: 0 });
    const { received, error } = await drain(response);
    expect(error).toEqual(lost);
    expect(received).toBeGreaterThan(0);
    expect(await nameOf(site)).toBe('primary');
  });

  it('that closes loses its requests; what had arrived is read, and the primary has the rest', async () => {
    const site = await startSite({ backends: 1 });
    await joinBackend(site, 0);
    const response = await site.client.request({ path: '/20000000', backend: 0 });
    await site.backends[0]!.server.close(0);
    const chunks: Buffer[] = [];
    const failed = (async () => {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    })();
    await expect(failed).rejects.toEqual(lost);
    const first = Buffer.concat(chunks);
    expect(first.length).toBeGreaterThan(0);
    expect(first.equals(patternBytes(20_000_000).subarray(0, first.length))).toBe(true);
    expect(await nameOf(site)).toBe('primary');
  });

  it('that fails an upload tells it', async () => {
    const site = await startSite({ backends: 1 });
    await joinBackend(site, 0);
    const upload = site.client.request({ path: '/', method: 'POST', body: endless(), backend: 0 });
    await vi.waitFor(() => expect(site.backends[0]!.uploaded).toBeGreaterThan(100_000), 30_000);
    site.connection.withdrawBackend(0, 'gone');
    await expect(upload).rejects.toEqual(lost);
  });

  it('refuses a hand-over twice, damaged, or after it was closed', async () => {
    const site = await startSite({ backends: 1 });
    const [backend] = site.backends;
    const imported = await handOver(site, 0, backend!);
    const snapshot = site.connection.handOver(1, backend!.address);
    const refused = expect.objectContaining({ code: 'SNAPSHOT_REFUSED' }) as unknown;
    const attempt = (bytes: Buffer): unknown => {
      try {
        return backend!.server.importConnection(bytes);
      } catch (error) {
        return error;
      }
    };
    expect(attempt(snapshot.subarray(0, -1))).toEqual(refused);
    expect(attempt(Buffer.concat([snapshot, Buffer.of(0)]))).toEqual(refused);
    expect(attempt(Buffer.concat([Buffer.of(9), snapshot.subarray(1)]))).toEqual(refused);
    backend!.server.importConnection(snapshot);
    expect(attempt(snapshot)).toEqual(refused);
    expect(() => imported.receivePrimaryMessage(Buffer.from('what'))).toThrow(
      expect.objectContaining({ code: 'BACKEND_MESSAGE' }),
    );
    expect(() => site.connection.receiveBackendMessage(0, Buffer.alloc(300))).toThrow(
      expect.objectContaining({ code: 'BACKEND_MESSAGE' }),
    );
  });

  it('that was never offered can be abandoned, and its path with it', async () => {
    const site = await startSite({ backends: 1 });
    await handOver(site, 0, site.backends[0]!);
    site.connection.handOver(1, site.backends[0]!.address);
    const left = once(site.connection, 'backendPathAbandoned');
    site.connection.withdrawBackend(1, 'gone');
    expect((await left)[0]).toBe(1);
    await joinBackend(site, 1, site.backends[0]);
    expect(await nameOf(site, 1)).toBe('backend0');
  });

  it('is shown by every role', async () => {
    const site = await startSite({ backends: 1 });
    const imported = await joinBackend(site, 0);
    await ask(site.client, { path: '/100000', backend: 0 });
    const { port } = site.backends[0]!.address;
    const seen = { backend: 0, address: '127.0.0.1', port };
    expect(site.client.status().backends).toMatchObject([{ ...seen, state: 'open' }]);
    expect(site.client.status().backends[0]!.bytesReceived).toBeGreaterThan(100_000);
    expect(site.connection.status().backends).toMatchObject([{ ...seen, state: 'offered', bytesSent: 0 }]);
    expect(imported.status().backends).toMatchObject([{ ...seen, state: 'serving' }]);
    expect(imported.status().backends[0]!.lease!.left).toBeGreaterThan(0);
    expect(site.backends[0]!.server.counters()).toMatchObject({ connectionsImported: 1, connectionsAccepted: 0 });
  });
});

describe('a client without Multi-End', () => {
  it('is served by the primary, which can hand nothing over', async () => {
    const site = await startSite({ backends: 1 });
    const accepted = once(site.primary.server, 'connection');
    const client = await connect(site.primary.address.port);
    const [connection] = (await accepted) as [Site['connection']];
    expect((await ask(client, { path: '/10' })).body).toHaveLength(10);
    expect(connection.multiEnd).toBe(false);
    expect(() => connection.handOver(0, site.backends[0]!.address)).toThrow(
      expect.objectContaining({ code: 'NO_MULTI_END' }),
    );
    await expect(client.openBackend(0)).rejects.toMatchObject({ code: 'NO_MULTI_END' });
  });
});

describe('a connection', () => {
  it('that the client closes is gone at every server', async () => {
    const site = await startSite();
    const imported = [await joinBackend(site, 0), await joinBackend(site, 1)];
    const closed = [site.connection, ...imported].map((connection) => once(connection as ImportedConnection, 'close'));
    await site.client.close();
    await Promise.all(closed);
  });

  it('goes on at the backends while the primary takes no new requests and finishes what it has', async () => {
    const site = await startSite({ backends: 1 });
    await joinBackend(site, 0);
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const upload = ask(site.client, { path: '/', method: 'POST', body: gated(gate) });
    await vi.waitFor(() => expect(site.primary.uploaded).toBe(1_000), 30_000);
    const response = await site.client.request({ path: '/5000000', backend: 0 });
    const closing = site.primary.server.close(30_000);
    expect(await collect(response)).toHaveLength(5_000_000);
    open();
    expect((await upload).body.toString()).toBe('2000');
    await closing;
  });
});

async function* gated(gate: Promise<void>): AsyncGenerator<Buffer> {
  yield patternBytes(1_000);
  await gate;
  yield patternBytes(2_000).subarray(1_000);
}

async function* endless(): AsyncGenerator<Buffer> {
  for (;;) yield patternBytes(1 << 16);
}

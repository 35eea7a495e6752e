import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  createHttp3Server,
  type ClientOptions,
  type Http3Client,
  type Http3Server,
  type PathEvent,
  type PathStatus,
  type ServerConnection,
  type ServerOptions,
} from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { connect } from '../support/http3_client.js';

const body = randomBytes(8_000_000);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A server on every IPv4 address, in turn on each path, that answers with `body`. */
async function startServer(options: Partial<ServerOptions> = {}): Promise<{ server: Http3Server; port: number }> {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({
    address: '0.0.0.0',
    port: 0,
    alpn: ['h3', 'hq-interop'],
    certificate,
    pathScheduler: 'round-robin',
    ...options,
  });
  server.on('request', (_request, response) => response.end(body));
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  return { server, port };
}

async function startBoth(clientOptions: Partial<ClientOptions> = {}, serverOptions: Partial<ServerOptions> = {}) {
  const { server, port } = await startServer(serverOptions);
  const accepted = once(server, 'connection') as Promise<[ServerConnection]>;
  const client = await connect(port, { localAddress: '127.0.0.1', ...clientOptions });
  const [connection] = await accepted;
  return { server, port, client, connection };
}

/** While the process does not run, a path may look broken, and the other carries its part: what is seen is tried again. */
const patience = { timeout: 120_000, interval: 0 };

/** Reads the response; `onProgress` hears of the bytes so far. */
async function download(client: Http3Client, onProgress: (bytes: number) => void = () => undefined): Promise<string> {
  const response = await client.request({ path: '/' });
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk);
    onProgress((bytes += chunk.length));
  }
  return hash.digest('hex');
}

/** Until another socket can be bound there. */
async function untilFree(address: string, port: number): Promise<void> {
  await vi.waitFor(async () => {
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    const bound = once(socket, 'listening');
    socket.bind(port, address);
    await bound;
  }, 30_000);
}

const path = (of: { status(): { paths: PathStatus[] } }, id: number): PathStatus | undefined =>
  of.status().paths.find((one) => one.id === id);

describe('a server', () => {
  it('takes part with each of its addresses, of both families', async () => {
    const { client, connection, port } = await startBoth(
      {},
      { address: '127.0.0.1', furtherAddresses: ['127.0.0.2', '::1'] },
    );
    const ids = [
      0,
      await client.openPath({ local: '127.0.0.1', remote: { address: '127.0.0.2', port } }),
      await client.openPath({ local: '::1', remote: { address: '::1', port } }),
    ];
    expect(await download(client)).toBe(sha256(body));
    expect(ids.map((id) => path(connection, id)?.local)).toMatchObject([
      { address: '127.0.0.1', port },
      { address: '127.0.0.2', port },
      { address: '::1', port },
    ]);
    for (const id of ids) expect(path(connection, id)?.bytesSent).toBeGreaterThan(body.length / 50);
    await expect(client.openPath({ local: '127.0.0.1', remote: { address: '127.0.0.3', port } })).rejects.toMatchObject(
      { code: 'PATH_FAILED' },
    );
  });

  it('that cannot have one of its addresses has none', async () => {
    const taken = createSocket('udp4').bind(0, '127.0.0.2');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const { port } = taken.address();
    const certificate = await createDevCertificate(['localhost'], new Date());
    const server = createHttp3Server({
      address: '127.0.0.1',
      furtherAddresses: ['127.0.0.2'],
      port,
      alpn: ['h3'],
      certificate,
    });
    await expect(server.listen()).rejects.toMatchObject({
      code: 'EADDRINUSE',
      message: expect.stringContaining(`127.0.0.2:${port}`) as string,
    });
    await startServer({ address: '127.0.0.1', port });
  });

  it.each([
    ['0.0.0.0', '127.0.0.2'],
    ['::', '127.0.0.2'],
    ['::', '::1'],
  ])('on %s answers from the address that was asked (%s)', async (address, asked) => {
    const { port } = await startServer({ address });
    // RFC 9000 §6: a version that it does not speak, in a datagram of full size, is answered without a connection.
    const packet = Buffer.alloc(1_200);
    packet.set([0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
    const socket = createSocket(asked.includes(':') ? 'udp6' : 'udp4');
    onTestFinished(() => void socket.close());
    const answered = once(socket, 'message') as Promise<[Buffer, { address: string; port: number }]>;
    socket.send(packet, port, asked);
    expect((await answered)[1]).toMatchObject({ address: asked, port });
    // The same for a connection, whose client would take no response from elsewhere.
    expect(await download(await connect(port, { host: asked }))).toBe(sha256(body));
  });
});

describe('a connection over several paths', () => {
  it.each(['h3', 'hq-interop'])('downloads over all of them (%s)', async (protocol) => {
    const { client, connection, port } = await startBoth({ alpn: [protocol] });
    const second = await client.openPath({ local: '127.0.0.2' });
    const third = await client.openPath({ local: '127.0.0.3', remote: { address: '127.0.0.4', port } });
    expect(client.status()).toMatchObject({ alpn: protocol, multipath: true });
    const share = body.length / 50;
    await vi.waitFor(async () => {
      expect(await download(client)).toBe(sha256(body));
      for (const id of [0, second, third]) {
        expect(path(client, id)).toMatchObject({ state: 'active', status: 'available', peerStatus: 'available' });
        expect(path(client, id)?.bytesReceived).toBeGreaterThan(share);
        expect(path(connection, id)?.bytesSent).toBeGreaterThan(share);
      }
    }, patience);
    expect(path(client, second)).toMatchObject({
      local: { address: '127.0.0.2', family: 'IPv4' },
      remote: { address: '127.0.0.1', port },
    });
    expect(path(connection, third)).toMatchObject({
      local: { address: '127.0.0.4', port },
      remote: { address: '127.0.0.3' },
    });
    expect(path(client, second)?.smoothedRttMs).toBeGreaterThan(0);
    expect(path(client, second)?.rttVarianceMs).toBeGreaterThan(0);
  });

  it('takes paths of both families, and several ports of one address', async () => {
    const { client, connection, port } = await startBoth({ host: '::1', localAddress: '::1' }, { address: '::' });
    const ids = [
      0,
      await client.openPath({ local: '::1' }),
      await client.openPath({ local: '127.0.0.2', remote: { address: '127.0.0.1', port } }),
    ];
    expect(await download(client)).toBe(sha256(body));
    expect(client.status().paths.map(({ local }) => local.family)).toEqual(['IPv6', 'IPv6', 'IPv4']);
    expect(path(connection, ids[2]!)).toMatchObject({
      local: { address: '127.0.0.1', port },
      remote: { address: '127.0.0.2' },
    });
    for (const id of ids) expect(path(connection, id)?.bytesSent).toBeGreaterThan(body.length / 50);
  });

  it('goes on when one is abandoned in the middle', async () => {
    const { client, connection } = await startBoth();
    const second = await client.openPath({ local: '127.0.0.2' });
    const heard: PathEvent[] = [];
    client.on('path', (event) => heard.push(event));
    let abandoned = false;
    const hash = await download(client, (bytes) => {
      if (abandoned || bytes < body.length / 4) return;
      abandoned = true;
      client.abandonPath(0, 42);
    });
    expect(hash).toBe(sha256(body));
    expect(heard).toContainEqual({ type: 'abandoned', id: 0, code: 42, byPeer: false });
    await vi.waitFor(() => {
      expect(client.status().paths.map(({ id }) => id)).toEqual([second]);
      expect(connection.status().paths.map(({ id }) => id)).toEqual([second]);
    }, 30_000);
  });

  it('keeps a pinned request and its response on one path', async () => {
    const { server, client, connection } = await startBoth();
    const second = await client.openPath({ local: '127.0.0.2' });
    server.removeAllListeners('request');
    server.on('request', (request, response) => {
      connection.pinStream(request.streamId, second);
      request.resume().on('end', () => response.end(body));
    });
    const sent = (of: { status(): { paths: PathStatus[] } }): number => path(of, 0)?.bytesSent ?? 0;
    const before = { client: sent(client), server: sent(connection) };
    const response = await client.request({
      method: 'POST',
      path: '/',
      body: body.subarray(0, 2_000_000),
      onPath: second,
    });
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBe(body.length);
    // Acknowledgements and limits at most; its share would be half.
    expect(sent(client) - before.client).toBeLessThan(200_000);
    expect(sent(connection) - before.server).toBeLessThan(200_000);
    await expect(client.request({ path: '/', onPath: 77 })).rejects.toMatchObject({ code: 'PATH_REFUSED' });
    expect(() => connection.pinStream(0, 77)).toThrow('no such path');
  });

  it('lets a backup rest until it is needed', async () => {
    const { server, client, connection } = await startBoth();
    const second = await client.openPath({ local: '127.0.0.2' });
    const told = once(server, 'path') as Promise<[ServerConnection, PathEvent]>;
    client.setPathStatus(second, 'backup');
    expect(await told).toEqual([connection, { type: 'status', id: second, status: 'backup' }]);
    expect(path(connection, second)?.peerStatus).toBe('backup');
    await vi.waitFor(async () => {
      const before = path(connection, second)?.bytesSent ?? 0;
      expect(await download(client)).toBe(sha256(body));
      // Probes of its MTU at most.
      expect((path(connection, second)?.bytesSent ?? 0) - before).toBeLessThan(50_000);
    }, patience);
    client.abandonPath(0);
    expect(await download(client)).toBe(sha256(body));
    expect(path(connection, second)?.bytesSent).toBeGreaterThan(body.length);
  });

  it('gives weighted paths their share', async () => {
    const { client, connection } = await startBoth({}, { pathScheduler: 'weighted' });
    const second = await client.openPath({ local: '127.0.0.2' });
    connection.setPathWeight(second, 8);
    const sent = (id: number): number => path(connection, id)?.bytesSent ?? 0;
    await vi.waitFor(async () => {
      const [light, heavy] = [sent(0), sent(second)];
      expect(await download(client)).toBe(sha256(body));
      expect(sent(second) - heavy).toBeGreaterThan(sent(0) - light);
    }, patience);
  });

  it('tells the server of each', async () => {
    const { server, client, connection } = await startBoth();
    const heard: PathEvent[] = [];
    server.on('path', (from, event) => {
      expect(from).toBe(connection);
      heard.push(event);
    });
    const id = await client.openPath({ local: '127.0.0.2' });
    await vi.waitFor(() => expect(heard).toContainEqual({ type: 'validated', id }), 30_000);
    expect(heard[0]).toEqual({ type: 'opened', id });
    client.abandonPath(id, 7);
    await vi.waitFor(() => expect(heard).toContainEqual({ type: 'abandoned', id, code: 7, byPeer: true }), 30_000);
  });

  it('gives the sockets of ended paths back', async () => {
    const { client } = await startBoth();
    const id = await client.openPath({ local: '127.0.0.2' });
    const { port } = path(client, id)!.local;
    client.abandonPath(id);
    await untilFree('127.0.0.2', port);
  });

  it('gives the sockets back that it has left', async () => {
    const { client } = await startBoth();
    for (let moves = 0; moves < 2; moves += 1) {
      const { port } = path(client, 0)!.local;
      await vi.waitFor(() => expect(client.migrate({ address: '127.0.0.1', port: 0 })).toBe(true), 30_000);
      await untilFree('127.0.0.1', port);
      expect(await download(client)).toBe(sha256(body));
    }
  });

  it.each(['ecf', 'min-rtt', 'blest', 'redundant', 'backup-only'] as const)(
    'works with the scheduler %s',
    async (pathScheduler) => {
      const { client } = await startBoth({ pathScheduler }, { pathScheduler });
      await client.openPath({ local: '127.0.0.2' });
      expect(await download(client)).toBe(sha256(body));
    },
  );

  it.each(['cubic', 'new_reno', 'bbr', 'olia'] as const)('works with the controller %s', async (congestionControl) => {
    const { client } = await startBoth({ congestionControl }, { congestionControl });
    await client.openPath({ local: '127.0.0.2' });
    expect(await download(client)).toBe(sha256(body));
  });
});

describe('a path that cannot be opened', () => {
  it('because a side does not speak multipath', async () => {
    for (const [clientSide, serverSide] of [
      [{ multipath: false }, {}],
      [{}, { multipath: false }],
    ]) {
      const { client } = await startBoth(clientSide, serverSide);
      expect(client.status().multipath).toBe(false);
      await expect(client.openPath({ local: '127.0.0.2' })).rejects.toMatchObject({ code: 'NO_MULTIPATH' });
      expect(await download(client)).toBe(sha256(body));
    }
  });

  it('because the address is not of this machine', async () => {
    const { client } = await startBoth();
    await expect(client.openPath({ local: '192.0.2.1' })).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
    await expect(client.openPath({ local: '::1' })).rejects.toThrow('one family');
    await expect(client.openPath({ local: 'localhost' })).rejects.toThrow('not an IP address: localhost');
    const zone = client.openPath({ local: 'fe80::1%no-such-link' });
    await expect(zone).rejects.toMatchObject({
      code: 'EADDRNOTAVAIL',
      message: 'fe80::1%no-such-link is not a link-local address of an interface',
    });
  });

  it('because nothing comes back', async () => {
    const { client } = await startBoth();
    const silent = createSocket('udp4');
    onTestFinished(() => void silent.close());
    silent.bind(0, '127.0.0.9');
    await once(silent, 'listening');
    const { port } = silent.address();
    await expect(client.openPath({ local: '127.0.0.2', remote: { address: '127.0.0.9', port } })).rejects.toMatchObject(
      { code: 'PATH_FAILED' },
    );
    expect(await download(client)).toBe(sha256(body));
  });

  it('because the connection ends', async () => {
    const { client } = await startBoth();
    const opening = client.openPath({ local: '127.0.0.2', remote: { address: '127.0.0.9', port: 9 } });
    const refused = expect(opening).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await client.close();
    await refused;
    await expect(client.openPath({ local: '127.0.0.2' })).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  it('because it is not there, or the last one', async () => {
    const { client } = await startBoth();
    expect(() => client.abandonPath(5)).toThrow(
      expect.objectContaining({ code: 'PATH_REFUSED', message: 'path: there is no such path' }) as Error,
    );
    expect(() => client.abandonPath(0)).toThrow('the last one');
    expect(() => client.setPathStatus(5, 'backup')).toThrow('no such path');
    expect(() => client.setPathWeight(5, 2)).toThrow('no such path');
    expect(() => client.setPathWeight(0, 0)).toThrow('whole number');
  });
});

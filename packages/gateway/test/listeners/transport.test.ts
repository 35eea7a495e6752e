import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  createHttp3Server,
  createLinkRelay,
  type Http3Server,
  type ServerOptions,
  type WebTransportSession,
} from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { ask, connect } from '../support/http3_client.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const support = (name: string): string => fileURLToPath(new URL(`../support/${name}`, import.meta.url));

async function startServer(options: Partial<ServerOptions> = {}): Promise<{ server: Http3Server; port: number }> {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({
    address: '127.0.0.1',
    port: 0,
    alpn: ['h3'],
    certificate,
    webtransport: true,
    ...options,
  });
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  return { server, port };
}

describe('received bytes', () => {
  it('reach JavaScript in whole buffers, however small the packets and frames were', async () => {
    const { server, port } = await startServer();
    const pieces: Buffer[] = [];
    server.on('request', (request, response) => {
      // Read once all that the first window allows is there.
      void vi
        .waitFor(() => expect(server.connections()[0]!.paths[0]!.bytesReceived).toBeGreaterThan(256 * 1024), 20_000)
        .then(() => {
          request.on('data', (piece: Buffer) => pieces.push(piece)).on('end', () => response.end('read'));
        });
    });
    const client = await connect(port);
    const bytes = Buffer.alloc(300_000, 'many small frames ');
    const frames = Array.from({ length: 300 }, (_, index) => bytes.subarray(index * 1000, (index + 1) * 1000));
    expect((await ask(client, { method: 'POST', path: '/', body: Readable.from(frames) })).body.toString()).toBe(
      'read',
    );
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    // The headers of frames are part of what one read takes.
    for (const piece of pieces.slice(0, 3)) expect(piece.length).toBeGreaterThan(64_000);
    expect(server.counters().javascriptCalls).toBeLessThan(200);
  });
});

describe('the fields of a response', () => {
  it('arrive whole, whatever their length', async () => {
    const { server, port } = await startServer();
    const sent = Object.fromEntries(
      [0, 1, 126, 127, 128, 129, 509, 510, 511, 512, 513, 5000].flatMap((length) => [
        [`value-${length}`, 'ü'.repeat(length)],
        [`name-${'n'.repeat(Math.min(length, 200))}`, 'value'],
      ]),
    );
    server.on('request', (_request, response) => {
      response.writeHead(200, sent);
      response.end();
    });
    const { headers } = await ask(await connect(port), { method: 'GET', path: '/' });
    expect(headers).toMatchObject(sent);
  });
});

describe('the end of a thread', () => {
  it('takes its open endpoints with it, and nothing else', async () => {
    const directory = await temporaryDirectory();
    const { certificate, privateKey } = await createDevCertificate(['localhost'], new Date());
    await writeFile(join(directory, 'cert.pem'), certificate);
    await writeFile(join(directory, 'key.pem'), privateKey);
    const run = promisify(execFile)(process.execPath, [
      support('worker_endpoints.mjs'),
      join(directory, 'cert.pem'),
      join(directory, 'key.pem'),
    ]);
    expect((await run).stdout).toBe('survived\n');
  });
});

describe('closing a server', () => {
  it('does not wait for a client that has vanished', async () => {
    const { server, port } = await startServer();
    server.on('request', (request, response) => {
      request.resume();
      response.writeHead(200);
      response.write('beginning');
    });
    const client = spawn(process.execPath, [support('open_request.mjs'), String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void client.kill('SIGKILL'));
    await once(client.stdout, 'data');
    client.kill('SIGKILL');
    await once(client, 'exit');
    await server.close(3_600_000);
  });

  it('waits for a client that is there but has nothing to say', async () => {
    const { server, port } = await startServer();
    server.on('request', (_request, response) => void setTimeout(() => response.end('late'), 6_000));
    const client = await connect(port);
    const answer = ask(client, { path: '/' });
    await once(server, 'request');
    await server.close(3_600_000);
    expect((await answer).body.toString()).toBe('late');
  });

  it('takes no request of a client whose handshake is still pending', async () => {
    const { server, port } = await startServer();
    const waiting: (() => void)[] = [];
    server.on('request', (_request, response) => void waiting.push(() => response.end('served')));
    const first = ask(await connect(port), { path: '/' });
    await vi.waitFor(() => expect(waiting).toHaveLength(1), 30_000);
    const relay = createLinkRelay({
      listen: { address: '127.0.0.1', port: 0 },
      target: { address: '127.0.0.1', port },
      there: { delayMs: 200 },
      back: { delayMs: 200 },
    });
    onTestFinished(() => relay.close());
    const connected = connect(relay.listen().port);
    await vi.waitFor(() => expect(server.counters().handshakesPendingGauge).toBe(1), 30_000);
    const closed = server.close(60_000);
    const client = await connected;
    await new Promise((resolve) => setTimeout(resolve, 500));
    await expect(ask(client, { path: '/' })).rejects.toThrow('going away');
    expect(waiting).toHaveLength(1);
    waiting[0]?.();
    expect((await first).body.toString()).toBe('served');
    await client.close();
    await closed;
  });
});

describe('datagrams of a session', () => {
  it('are counted when they arrive', async () => {
    const { server, port } = await startServer();
    server.on('webtransport', (request) => void request.accept());
    const client = await connect(port, { webtransport: true });
    const { datagrams } = await client.openWebTransport('/');
    const writer = datagrams.createWritable().getWriter();
    for (let index = 0; index < 20; index += 1) await writer.write(Uint8Array.of(index));
    await vi.waitFor(() => {
      const { sent, acknowledged, lost } = datagrams.counts();
      expect([sent, acknowledged + lost]).toEqual([20, 20]);
    }, 30_000);
    expect(datagrams.counts().acknowledged).toBeGreaterThan(0);
  });
});

describe('many datagrams', () => {
  const count = 2_000;
  const written = async (session: WebTransportSession): Promise<void> => {
    const writer = session.datagrams.writable.getWriter();
    await Promise.all(Array.from({ length: count }, () => writer.write(Buffer.alloc(1_000))));
  };

  it('wait for room, and none expires', async () => {
    const { server, port } = await startServer();
    server.on('webtransport', (request) => void request.accept());
    const session = await (await connect(port, { webtransport: true })).openWebTransport('/');
    await written(session);
    expect(session.datagrams.counts()).toMatchObject({ sent: count, expired: 0 });
  });

  it('fail with the session when there is no room any more', async () => {
    const { server, port } = await startServer();
    server.on('webtransport', (request) => void request.accept());
    const session = await (await connect(port, { webtransport: true })).openWebTransport('/');
    const outcome = expect(written(session)).rejects.toThrow('closed');
    session.close({ closeCode: 3 });
    await outcome;
  });

  it('cost JavaScript one call per turn', async () => {
    const { server, port } = await startServer();
    const accepted = new Promise<WebTransportSession>((resolve) =>
      server.on('webtransport', (request) => resolve(request.accept())),
    );
    const session = await (await connect(port, { webtransport: true })).openWebTransport('/');
    const receiver = await accepted;
    const before = server.counters().javascriptCalls;
    await written(session);
    await vi.waitFor(() => {
      const { acknowledged, lost } = session.datagrams.counts();
      expect(acknowledged + lost).toBeGreaterThanOrEqual(count);
    }, 30_000);
    const { acknowledged } = session.datagrams.counts();
    // More than wait for a reader have come.
    expect(receiver.datagrams.counts().dropped).toBeGreaterThan(0);
    expect(server.counters().javascriptCalls - before).toBeLessThan(acknowledged / 4);
  });
});

describe('a log of a connection', () => {
  it('costs a peer a whole handshake', async () => {
    const directory = await temporaryDirectory();
    const { server, port } = await startServer({ qlogDirectory: directory });
    await expect(connect(port, { insecure: false })).rejects.toThrow('handshake');
    await vi.waitFor(() => expect(server.counters().handshakesPendingGauge).toBe(0), 30_000);
    expect(await readdir(directory)).toEqual([]);
    await connect(port);
    await vi.waitFor(async () => expect(await readdir(directory)).toHaveLength(1), 30_000);
  });
});

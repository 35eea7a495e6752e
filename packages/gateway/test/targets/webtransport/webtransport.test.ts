import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { connectHttp3, type WebTransportSession } from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startFullGateway } from '../../support/gateway.js';
import {
  openSession,
  readAll,
  readNextStream,
  sendAndReadAll,
  sendOneWay,
  sendUntilDatagram,
  tellUrl,
  writeApplication,
} from '../../support/sessions.js';

const echoRoute = 'routes: [{ path: /echo, webtransport: echo }]';

async function openEcho() {
  const running = await startFullGateway(echoRoute);
  const session = await openSession(running.port, '/echo', running.gateway.certificate.hash);
  return { ...running, session };
}

describe('echo', () => {
  it('sends a bidirectional stream back on itself', async () => {
    const { session } = await openEcho();
    const bytes = randomBytes(300_000);
    expect((await sendAndReadAll(session, bytes)).equals(bytes)).toBe(true);
  });

  it('sends a unidirectional stream back on a new one', async () => {
    const { session } = await openEcho();
    await sendOneWay(session, Buffer.from('one way'));
    expect(await readNextStream(session)).toBe('one way');
  });

  it('sends datagrams back', async () => {
    const { session } = await openEcho();
    expect(await sendUntilDatagram(session, Buffer.from('ping'))).toBe('ping');
  });

  it('answers the close of the session, and the gateway notices', async () => {
    const { session, gateway, log } = await openEcho();
    expect(gateway.status().webTransportSessions).toBe(1);
    session.close({ closeCode: 7, reason: 'enough' });
    await session.closed;
    await vi.waitFor(() => expect(gateway.status().webTransportSessions).toBe(0), 30_000);
    await expect
      .poll(() => log.find((line) => line['msg'] === 'webtransport session'))
      .toMatchObject({ route: '/echo', closeCode: 7, reason: 'enough' });
  });

  it('serves many streams at one time', async () => {
    const { session } = await openEcho();
    const results = await Promise.all(
      Array.from({ length: 50 }, async (_, index) =>
        (await sendAndReadAll(session, Buffer.from(`stream ${index}`))).toString(),
      ),
    );
    expect(results).toEqual(Array.from({ length: 50 }, (_, index) => `stream ${index}`));
  });
});

const arrived = (session: WebTransportSession): number => session.datagrams.counts().acknowledged;

describe('an application module', () => {
  async function startModule(source: string) {
    const running = await startFullGateway(
      'routes: [{ path: /app, webtransport: ./application.mjs }]',
      dirname(await writeApplication(source)),
    );
    return { ...running, hash: running.gateway.certificate.hash };
  }

  it('receives sessions and what is known of them', async () => {
    const { port, hash } = await startModule(tellUrl);
    const session = await openSession(port, '/app/room?a=1', hash);
    expect(await readNextStream(session)).toBe('/app/room?a=1');
  });

  it('costs only its own session when it fails', async () => {
    const { port, hash, log, gateway } = await startModule(
      `export default async () => { throw new Error('broken'); };`,
    );
    const session = await openSession(port, '/app', hash);
    expect(await session.closed).toMatchObject({ closeCode: 1 });
    await vi.waitFor(
      () => expect(log.some((line) => line['msg'] === 'WebTransport application failed')).toBe(true),
      30_000,
    );
    expect(gateway.status().state).toBe('serving');
  });

  it('that leaves its loops is told when the session ends, and the client may open as many streams as it likes', async () => {
    const { port, hash, log } = await startModule(`
      export default async (session, { log }) => {
        for await (const stream of session.incomingBidirectionalStreams) { void stream; break; }
        for await (const stream of session.incomingUnidirectionalStreams) { void stream; break; }
        log.info(await session.closed, 'told');
      };`);
    const session = await openSession(port, '/app', hash);
    for (let index = 0; index < 300; index += 1) {
      const { writable } = await session.createBidirectionalStream({ waitUntilAvailable: true });
      writable
        .getWriter()
        .write(Uint8Array.of(1))
        .catch(() => undefined);
      const writer = (await session.createUnidirectionalStream({ waitUntilAvailable: true })).getWriter();
      writer.write(Uint8Array.of(1)).catch(() => undefined);
      writer.closed.catch(() => undefined);
    }
    session.close({ closeCode: 9, reason: 'enough' });
    await vi.waitFor(
      () => expect(log.find((line) => line['msg'] === 'told')).toMatchObject({ closeCode: 9, reason: 'enough' }),
      30_000,
    );
    expect(log.filter((line) => line['level'] === 50)).toEqual([]);
  });

  it('that does not read leaves a bounded number of datagrams waiting, the newest ones', async () => {
    const { gateway, port, hash, log } = await startModule(`
      export default async (session) => {
        await session.incomingUnidirectionalStreams.getReader().read();
        const reader = session.datagrams.readable.getReader();
        const seen = [];
        for (let count = 0; count < 256; count += 1) seen.push((await reader.read()).value.readUInt16BE());
        const writer = (await session.createUnidirectionalStream()).getWriter();
        await writer.write(Buffer.from(JSON.stringify(seen)));
        await writer.close();
      };`);
    const client = await connectHttp3({
      alpn: ['h3'],
      host: '127.0.0.1',
      port,
      serverName: 'localhost',
      certificateHashes: [hash],
      webtransport: true,
    });
    onTestFinished(() => client.close());
    const session = await client.openWebTransport('/app');
    const writer = session.datagrams.writable.getWriter();
    for (let index = 0; index < 1_000; index += 1) {
      const datagram = Buffer.alloc(100);
      datagram.writeUInt16BE(index);
      await writer.write(datagram);
      // In steps that no queue on the way refuses.
      if (index % 50 === 49) await vi.waitFor(() => expect(arrived(session)).toBe(index + 1), 30_000);
    }
    const reply = session.incomingUnidirectionalStreams.getReader();
    await (await session.createUnidirectionalStream()).getWriter().write(Uint8Array.of(1));
    const seen = JSON.parse((await readAll((await reply.read()).value!)).toString()) as number[];
    expect(seen).toEqual(Array.from({ length: 256 }, (_, index) => 744 + index));
    session.close();
    await vi.waitFor(() => expect(gateway.status().webTransportSessions).toBe(0), 30_000);
    await expect
      .poll(() => log.find((line) => line['msg'] === 'webtransport session'))
      .toMatchObject({ datagramsDropped: 744 });
  });

  it('is refused without a default function', async () => {
    await expect(startModule('export const a = 1;')).rejects.toMatchObject({
      code: 'APPLICATION_INVALID',
      exitCode: 3,
    });
    await expect(startModule('export default (;')).rejects.toMatchObject({ code: 'APPLICATION_INVALID' });
  });
});

describe('sessions that are refused', () => {
  it('have no route, or come from another origin', async () => {
    const { port, gateway, log } = await startFullGateway(
      'routes: [{ path: /echo, webtransport: { application: echo, origins: "https://a.example" } }]',
    );
    await expect(openSession(port, '/elsewhere', gateway.certificate.hash)).rejects.toThrow();
    await expect(openSession(port, '/echo', gateway.certificate.hash)).rejects.toThrow();
    const refused = () => log.filter((line) => line['msg'] === 'webtransport session refused');
    await expect.poll(() => refused().map((line) => line['status'])).toEqual([404, 403]);
    expect(refused().map((line) => line['remoteAddress'])).toEqual([
      expect.stringMatching(/^127\.0\.0\.1/),
      expect.stringMatching(/^127\.0\.0\.1/),
    ]);
  });
});

describe('stopping', () => {
  it('does not wait for sessions that do nothing', async () => {
    const { session, gateway } = await openEcho();
    const started = performance.now();
    await gateway.close(60_000);
    expect(performance.now() - started).toBeLessThan(30_000);
    await session.closed.catch(() => undefined);
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type { WebTransportSession } from '../../../src/targets/webtransport/session.js';
import { startPair, type Pair } from '../../support/nodes.js';
import {
  openSession,
  readNextStream,
  sendAndReadAll,
  sendOneWay,
  sendUntilDatagram,
  tellUrl,
  writeApplication,
} from '../../support/sessions.js';

async function openEcho(): Promise<Pair & { session: WebTransportSession }> {
  const pair = await startPair({ gateway: ['routes: [{ path: /echo, webtransport: echo }]'] });
  return { ...pair, session: await openSession(pair.port, '/echo', pair.edge.certificate.hash) };
}

/** A session with an application of our own at the gateway. */
async function openModule(source: string): Promise<Pair & { session: WebTransportSession }> {
  const file = JSON.stringify(await writeApplication(source));
  const pair = await startPair({ gateway: [`routes: [{ path: /app, webtransport: ${file} }]`] });
  return { ...pair, session: await openSession(pair.port, '/app?a=1', pair.edge.certificate.hash) };
}

describe('a WebTransport session through an edge', () => {
  it('carries bidirectional streams, many at one time', async () => {
    const { session, edge, gateway } = await openEcho();
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const bytes = randomBytes(100_000 + index);
        expect((await sendAndReadAll(session, bytes)).equals(bytes)).toBe(true);
      }),
    );
    expect([edge.status().webTransportSessions, gateway.status().webTransportSessions]).toEqual([1, 1]);
    expect(gateway.status().connections).toHaveLength(1);
  });

  it('carries unidirectional streams in both directions', async () => {
    const { session } = await openEcho();
    await sendOneWay(session, Buffer.from('one way'));
    expect(await readNextStream(session)).toBe('one way');
  });

  it('carries datagrams', async () => {
    const { session } = await openEcho();
    expect(await sendUntilDatagram(session, Buffer.from('ping'))).toBe('ping');
  });

  it('tells the application its path and query', async () => {
    const { session } = await openModule(tellUrl);
    expect(await readNextStream(session)).toBe('/app?a=1');
  });

  it('tells the gateway the close of the client, with code and reason', async () => {
    const { session, edge, gateway, log } = await openEcho();
    session.close({ closeCode: 7, reason: 'enough' });
    await session.closed;
    await vi.waitFor(
      () => expect([edge.status().webTransportSessions, gateway.status().webTransportSessions]).toEqual([0, 0]),
      30_000,
    );
    await vi.waitFor(
      () =>
        expect(log.filter((line) => line['msg'] === 'webtransport session')).toMatchObject([
          { closeCode: 7, reason: 'enough' },
          { closeCode: 7, reason: 'enough' },
        ]),
      30_000,
    );
  });

  it('tells the client the close of the application', async () => {
    const { session } = await openModule(
      `export default (session) => session.close({ closeCode: 4321, reason: 'go away' });`,
    );
    await expect(session.closed).resolves.toMatchObject({ closeCode: 4321, reason: 'go away' });
  });

  it('passes resets and refusals of streams on, with their codes', async () => {
    const { session } = await openModule(`
      export default async (session) => {
        const seen = [];
        const report = async (text) => {
          seen.push(text);
          if (seen.length < 2) return;
          const writer = (await session.createUnidirectionalStream()).getWriter();
          await writer.write(Buffer.from(seen.sort().join(' ')));
          await writer.close();
        };
        for await (const { readable, writable } of session.incomingBidirectionalStreams) {
          const reader = readable.getReader();
          (async () => { for (;;) if ((await reader.read()).done) return; })().catch((error) => report('reset ' + error.streamErrorCode));
          writable.getWriter().closed.catch((error) => report('stopped ' + error.streamErrorCode));
        }
      };`);
    const { readable, writable } = await session.createBidirectionalStream();
    const writer = writable.getWriter();
    await writer.write(Buffer.from('beginning'));
    // The client's library sends a reason's `code`.
    const failure = (code: number): Error => Object.assign(new Error('abandoned'), { code });
    await Promise.all([writer.abort(failure(11)), readable.cancel(failure(12))]);
    expect(await readNextStream(session)).toBe('reset 11 stopped 12');
  });

  it('is refused with the status of the gateway', async () => {
    const { port, edge, log } = await startPair({ gateway: ['routes: [{ path: /echo, webtransport: echo }]'] });
    await expect(openSession(port, '/none', edge.certificate.hash)).rejects.toBeDefined();
    await vi.waitFor(
      () =>
        expect(log.filter((line) => line['msg'] === 'webtransport session refused')).toMatchObject([
          { status: 404 },
          { status: 404 },
        ]),
      30_000,
    );
  });

  it('ends when the gateway goes away, and the next one finds it again', async () => {
    const { session, gateway, edge } = await openEcho();
    await gateway.close(0);
    await session.closed.catch(() => undefined);
    await vi.waitFor(() => expect(edge.status().webTransportSessions).toBe(0), 30_000);
  });
});

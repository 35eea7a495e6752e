import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { WebTransportSession } from '../src/webtransport/session.js';
import { startPair, type Pair } from './support/nodes.js';
import { openSession, readAll } from './support/sessions.js';
import { temporaryDirectory } from './support/temporary_directory.js';

async function openEcho(): Promise<Pair & { session: WebTransportSession }> {
  const pair = await startPair({ gateway: ['routes: [{ path: /echo, webtransport: echo }]'] });
  return { ...pair, session: await openSession(pair.port, '/echo', pair.edge.certificate.hash) };
}

/** A session with an application of our own at the gateway. */
async function openModule(source: string): Promise<Pair & { session: WebTransportSession }> {
  const file = join(await temporaryDirectory(), 'application.mjs');
  await writeFile(file, source);
  const pair = await startPair({ gateway: [`routes: [{ path: /app, webtransport: ${JSON.stringify(file)} }]`] });
  return { ...pair, session: await openSession(pair.port, '/app?a=1', pair.edge.certificate.hash) };
}

describe('a WebTransport session through an edge', () => {
  it('carries bidirectional streams, many at one time', async () => {
    const { session, edge, gateway } = await openEcho();
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const bytes = randomBytes(100_000 + index);
        const { readable, writable } = await session.createBidirectionalStream({ waitUntilAvailable: true });
        const writer = writable.getWriter();
        const [, back] = await Promise.all([writer.write(bytes).then(() => writer.close()), readAll(readable)]);
        expect(back.equals(bytes)).toBe(true);
      }),
    );
    expect([edge.status().webTransportSessions, gateway.status().webTransportSessions]).toEqual([1, 1]);
    expect(gateway.status().connections).toHaveLength(1);
  });

  it('carries unidirectional streams in both directions', async () => {
    const { session } = await openEcho();
    const writer = (await session.createUnidirectionalStream()).getWriter();
    await writer.write(Buffer.from('one way'));
    await writer.close();
    const { value } = await session.incomingUnidirectionalStreams.getReader().read();
    if (!value) throw new Error('no stream came back');
    expect((await readAll(value)).toString()).toBe('one way');
  });

  it('carries datagrams', async () => {
    const { session } = await openEcho();
    const writer = session.datagrams.createWritable().getWriter();
    const reader = session.datagrams.readable.getReader();
    // A datagram may be lost: another one goes out until an answer comes.
    const timer = setInterval(() => void writer.write(Buffer.from('ping')), 50);
    const { value } = await reader.read();
    clearInterval(timer);
    expect(Buffer.from(value ?? []).toString()).toBe('ping');
  });

  it('tells the application its path and query', async () => {
    const { session } = await openModule(`
      export default async (session, { url }) => {
        const writer = (await session.createUnidirectionalStream()).getWriter();
        await writer.write(Buffer.from(url));
        await writer.close();
      };`);
    const { value } = await session.incomingUnidirectionalStreams.getReader().read();
    expect((await readAll(value!)).toString()).toBe('/app?a=1');
  });

  it('tells the gateway the close of the client, with code and reason', async () => {
    const { session, edge, gateway, log } = await openEcho();
    session.close({ closeCode: 7, reason: 'enough' });
    await session.closed;
    await vi.waitFor(() => expect([edge.status().webTransportSessions, gateway.status().webTransportSessions]).toEqual([0, 0]), 10_000);
    await vi.waitFor(() => expect(log.filter((line) => line['msg'] === 'webtransport session')).toMatchObject([{ closeCode: 7, reason: 'enough' }, { closeCode: 7, reason: 'enough' }]));
  });

  it('tells the client the close of the application', async () => {
    const { session } = await openModule(`export default (session) => session.close({ closeCode: 4321, reason: 'go away' });`);
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
          (async () => { for (;;) if ((await reader.read()).done) return; })().catch((error) => report(error.message));
          writable.getWriter().closed.catch((error) => report(error.message));
        }
      };`);
    const { readable, writable } = await session.createBidirectionalStream();
    const writer = writable.getWriter();
    await writer.write(Buffer.from('beginning'));
    // The library sends a reason's `code`, and tells the one that it received in its message.
    const failure = (code: number): Error => Object.assign(new Error('given up'), { code });
    await Promise.all([writer.abort(failure(11)), readable.cancel(failure(12))]);
    const { value } = await session.incomingUnidirectionalStreams.getReader().read();
    expect((await readAll(value!)).toString()).toBe('Resetstream with code:11 StopSending with code:12');
  });

  it('is refused with the status of the gateway', async () => {
    const { port, edge, log } = await startPair({ gateway: ['routes: [{ path: /echo, webtransport: echo }]'] });
    await expect(openSession(port, '/none', edge.certificate.hash)).rejects.toBeDefined();
    await vi.waitFor(() => expect(log.filter((line) => line['msg'] === 'webtransport session refused')).toMatchObject([{ status: 404 }, { status: 404 }]));
  });

  it('ends when the gateway goes away, and the next one finds it again', async () => {
    const { session, gateway, edge } = await openEcho();
    await gateway.close(0);
    await session.closed.catch(() => undefined);
    await vi.waitFor(() => expect(edge.status().webTransportSessions).toBe(0), 10_000);
  });
});

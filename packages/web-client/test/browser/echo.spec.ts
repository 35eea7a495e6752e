import type { Page } from '@playwright/test';
import type { GatewayProcess } from './gateway.js';
import { expect, test } from './fixtures.js';

/** Defines `openEcho()` in the page: a session with the echo application. */
async function offerEcho(page: Page, gateway: GatewayProcess): Promise<void> {
  await page.goto(`${gateway.httpUrl}/paths/`);
  await page.evaluate(async () => {
    const answer = await fetch('/.well-known/sheaf/certificate-hashes');
    const { hashes, authority } = (await answer.json()) as { hashes: string[]; authority: string };
    const scope = globalThis as unknown as Record<string, unknown>;
    scope['openEcho'] = async (): Promise<WebTransport> => {
      const session = new WebTransport(`https://${authority}/echo`, {
        serverCertificateHashes: hashes.map((hash) => ({
          algorithm: 'sha-256',
          value: Uint8Array.from(hash.match(/../g)!, (pair) => Number.parseInt(pair, 16)),
        })),
      });
      await session.ready;
      return session;
    };
    scope['randomBytes'] = (length: number): Uint8Array => {
      const bytes = new Uint8Array(length);
      for (let start = 0; start < length; start += 65_536) {
        crypto.getRandomValues(bytes.subarray(start, start + 65_536));
      }
      return bytes;
    };
    scope['readAll'] = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Uint8Array> =>
      new Uint8Array(await new Response(stream).arrayBuffer());
    scope['same'] = (left: Uint8Array, right: Uint8Array): boolean =>
      left.length === right.length && left.every((byte, index) => byte === right[index]);
  });
}

declare function openEcho(): Promise<WebTransport>;
declare function randomBytes(length: number): Uint8Array<ArrayBuffer>;
declare function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array>;
declare function same(left: Uint8Array, right: Uint8Array): boolean;

test.beforeEach(async ({ page, gateway }) => offerEcho(page, gateway));

test('a bidirectional stream comes back on itself, 4 MB both ways', async ({ page }) => {
  const equal = await page.evaluate(async () => {
    const session = await openEcho();
    const sent = randomBytes(4_000_000);
    const { readable, writable } = await session.createBidirectionalStream();
    const [returned] = await Promise.all([readAll(readable), new Blob([sent]).stream().pipeTo(writable)]);
    session.close();
    return same(sent, returned);
  });
  expect(equal).toBe(true);
});

test('unidirectional streams come back on new ones, to the end', async ({ page }) => {
  const equal = await page.evaluate(async () => {
    const session = await openEcho();
    const incoming = session.incomingUnidirectionalStreams.getReader();
    const results: boolean[] = [];
    for (let round = 0; round < 20; round += 1) {
      const sent = randomBytes(100_000);
      await new Blob([sent]).stream().pipeTo(await session.createUnidirectionalStream());
      const { value } = await incoming.read();
      results.push(same(sent, await readAll(value as ReadableStream<Uint8Array>)));
    }
    session.close();
    return results;
  });
  expect(equal).toEqual(Array.from({ length: 20 }, () => true));
});

test('a hundred streams at once keep their bytes apart', async ({ page }) => {
  const results = await page.evaluate(async () => {
    const session = await openEcho();
    const one = async (): Promise<boolean> => {
      const sent = randomBytes(20_000);
      const { readable, writable } = await session.createBidirectionalStream();
      const writer = writable.getWriter();
      void writer.write(sent);
      void writer.close();
      return same(sent, await readAll(readable));
    };
    const equal = await Promise.all(Array.from({ length: 100 }, one));
    session.close();
    return equal;
  });
  expect(results).toEqual(Array.from({ length: 100 }, () => true));
});

test('datagrams come back as datagrams', async ({ page }) => {
  const returned = await page.evaluate(async () => {
    const session = await openEcho();
    const reader = session.datagrams.readable.getReader();
    const writer = session.datagrams.writable.getWriter();
    const seen = new Set<number>();
    let next = reader.read();
    // Datagrams may be lost, or late on a busy machine; one of several hundred may not.
    for (let attempt = 0; attempt < 500 && seen.size < 20; attempt += 1) {
      await writer.write(Uint8Array.of(attempt % 20, 1, 2, 3));
      const arrived = await Promise.race([next, new Promise<undefined>((resolve) => setTimeout(resolve, 1_000))]);
      if (arrived === undefined) continue;
      next = reader.read();
      const value = arrived.value as Uint8Array;
      if (value.length === 4 && value[3] === 3) seen.add(value[0]!);
    }
    session.close();
    return seen.size;
  });
  expect(returned).toBe(20);
});

test('the close of a session is answered', async ({ page }) => {
  const info = await page.evaluate(async () => {
    const session = await openEcho();
    session.close({ closeCode: 7, reason: 'done' });
    const { closeCode, reason } = await session.closed;
    return { closeCode, reason };
  });
  expect(info).toEqual({ closeCode: 7, reason: 'done' });
});

test('a session for a path without an application is refused', async ({ page, gateway }) => {
  const outcome = await page.evaluate(async (port) => {
    const session = new WebTransport(`https://127.0.0.1:${port}/paths/`);
    session.closed.catch(() => undefined);
    return session.ready.then(
      () => 'opened',
      () => 'refused',
    );
  }, gateway.port);
  expect(outcome).toBe('refused');
});

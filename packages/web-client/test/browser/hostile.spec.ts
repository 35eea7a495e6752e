import { ERROR_CODES } from '../../src/protocol/errors.js';
import { carriers, demoState, expect, openThroughStart, test } from './fixtures.js';

// What a hostile page can write on a stream of a page session, and what it costs.
const attacks = [
  { name: 'an unknown version', bytes: [9, 0], code: ERROR_CODES.unsupported_version },
  { name: 'a head of 4 GB', bytes: [1, 0xc0, 0, 0, 1, 0, 0, 0, 0], code: ERROR_CODES.too_large },
  { name: 'bytes that are no head', bytes: [1, 4, 1, 9, 9, 9], code: ERROR_CODES.malformed },
  { name: 'a head that is cut off', bytes: [1, 40, 1, 3], code: ERROR_CODES.malformed },
];

for (const { name, bytes, code } of attacks) {
  test(`${name} ends the session with code ${code}, and only that`, async ({ page, gateway }) => {
    await page.goto(`${gateway.httpUrl}/paths/`);
    const closeCode = await page.evaluate(async (head) => {
      const answer = await fetch('/.well-known/sheaf/certificate-hashes');
      const { hashes, authority } = (await answer.json()) as { hashes: string[]; authority: string };
      const session = new WebTransport(`https://${authority}/.well-known/sheaf/page`, {
        serverCertificateHashes: hashes.map((hash) => ({
          algorithm: 'sha-256',
          value: Uint8Array.from(hash.match(/../g)!, (pair) => Number.parseInt(pair, 16)),
        })),
      });
      await session.ready;
      const { writable } = await session.createBidirectionalStream();
      const writer = writable.getWriter();
      writer.closed.catch(() => undefined);
      writer.write(Uint8Array.from(head)).catch(() => undefined);
      writer.close().catch(() => undefined);
      return (await session.closed).closeCode;
    }, bytes);
    expect(closeCode).toBe(code);
    await openThroughStart(page, gateway.httpUrl, '/');
    expect(carriers(await demoState(page))).toEqual(['WebTransport']);
  });
}

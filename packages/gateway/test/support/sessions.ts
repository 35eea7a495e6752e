import { onTestFinished } from 'vitest';
import type { WebTransportSession } from '../../src/webtransport/session.js';

type WebTransportClass = new (url: string, options: object) => WebTransportSession;

/** A WebTransport session of @fails-components/webtransport's client, on our transport; closes with the test. */
export async function openSession(port: number, path: string, hash: string): Promise<WebTransportSession> {
  await import('@sheaf/native/register');
  const library = (await import('@fails-components/webtransport')) as unknown as { WebTransport: WebTransportClass; quicheLoaded: Promise<void> };
  await library.quicheLoaded;
  const session = new library.WebTransport(`https://127.0.0.1:${port}${path}`, {
    serverCertificateHashes: [{ algorithm: 'sha-256', value: Buffer.from(hash, 'hex') }],
    requireUnreliable: true,
  });
  session.closed.catch(() => undefined);
  onTestFinished(() => {
    try {
      session.close();
    } catch {
      // Closed already.
    }
  });
  await session.ready;
  return session;
}

/** Everything a stream still holds. */
export async function readAll(readable: { getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> } }): Promise<Buffer> {
  const reader = readable.getReader();
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (value) chunks.push(value);
    if (done) return Buffer.concat(chunks);
  }
}

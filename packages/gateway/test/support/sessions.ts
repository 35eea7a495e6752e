import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { WebTransportSession } from '../../src/targets/webtransport/session.js';
import { temporaryDirectory } from './temporary_directory.js';

type WebTransportClass = new (url: string, options: object) => WebTransportSession;

/** A WebTransport session of @fails-components/webtransport's client, on our transport; closes with the test. */
export async function openSession(port: number, path: string, hash: string): Promise<WebTransportSession> {
  await import('@sheaf/native/register');
  const library = (await import('@fails-components/webtransport')) as unknown as {
    WebTransport: WebTransportClass;
    quicheLoaded: Promise<void>;
  };
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
export async function readAll(readable: {
  getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> };
}): Promise<Buffer> {
  const reader = readable.getReader();
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (value) chunks.push(value);
    if (done) return Buffer.concat(chunks);
  }
}

/** Sends the bytes on a new bidirectional stream; returns what comes back on it. */
export async function sendAndReadAll(session: WebTransportSession, bytes: Uint8Array): Promise<Buffer> {
  const { readable, writable } = await session.createBidirectionalStream({ waitUntilAvailable: true });
  const writer = writable.getWriter();
  const [, back] = await Promise.all([writer.write(bytes).then(() => writer.close()), readAll(readable)]);
  return back;
}

/** Sends the bytes on a new unidirectional stream. */
export async function sendOneWay(session: WebTransportSession, bytes: Uint8Array): Promise<void> {
  const writer = (await session.createUnidirectionalStream()).getWriter();
  await writer.write(bytes);
  await writer.close();
}

/** What the next unidirectional stream of the peer brings. */
export async function readNextStream(session: WebTransportSession): Promise<string> {
  const { value } = await session.incomingUnidirectionalStreams.getReader().read();
  if (!value) throw new Error('no stream came');
  return (await readAll(value)).toString();
}

/** Sends the datagram until one arrives: each of them may be lost. */
export async function sendUntilDatagram(session: WebTransportSession, datagram: Uint8Array): Promise<string> {
  const writer = session.datagrams.createWritable().getWriter();
  const timer = setInterval(() => void writer.write(datagram), 50);
  const { value } = await session.datagrams.readable.getReader().read();
  clearInterval(timer);
  return Buffer.from(value ?? []).toString();
}

/** The source of an application that answers a session with one unidirectional stream: its path and query. */
export const tellUrl = `export default async (session, { url }) => {
  const writer = (await session.createUnidirectionalStream()).getWriter();
  await writer.write(Buffer.from(url));
  await writer.close();
};`;

/** A module with this source; removed with the test. */
export async function writeApplication(source: string): Promise<string> {
  const file = join(await temporaryDirectory(), 'application.mjs');
  await writeFile(file, source);
  return file;
}

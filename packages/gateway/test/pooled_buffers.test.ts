import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createHttp3Server, type ServerResponse } from '@sheaf/native';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createDevCertificate } from '../src/tls/dev_certificate.js';
import { connect } from './support/http3_client.js';

const size = 256 * 1024;
/** Node 21 to 23 take memory away although it is marked: there each Buffer is a new one. */
const recycles = !['21', '22', '23'].includes(process.versions.node.split('.')[0]!);

/** A server whose every response is what `write` makes of it, and a GET of one. */
async function download(write: (response: ServerResponse) => Promise<void>): Promise<AsyncIterable<Buffer>> {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate });
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  server.on('request', (_request, response) => {
    response.keepsChunks = true;
    void write(response);
  });
  const client = await connect(port);
  return (await client.request({ method: 'GET', path: '/', authority: 'localhost' })) as unknown as AsyncIterable<Buffer>;
}

async function writeTaken(response: ServerResponse, fill: (buffer: Buffer) => void): Promise<Buffer> {
  const buffer = response.takeBuffer(size);
  fill(buffer);
  if (!response.write(buffer)) await once(response, 'drain');
  return buffer;
}

it('a long body goes through the same Buffers again and again, and arrives whole', async () => {
  const used = new Set<ArrayBufferLike>();
  const sent = createHash('sha256');
  const pieces = 400;
  const body = await download(async (response) => {
    for (let piece = 0; piece < pieces; piece += 1) {
      await response.room();
      const buffer = await writeTaken(response, (taken) => randomBytes(size).copy(taken));
      sent.update(buffer);
      used.add(buffer.buffer);
    }
    response.end();
  });
  const received = createHash('sha256');
  let bytes = 0;
  for await (const chunk of body) {
    received.update(chunk);
    bytes += chunk.length;
  }
  expect(bytes).toBe(pieces * size);
  expect(received.digest('hex')).toBe(sent.digest('hex'));
  if (recycles) expect(used.size).toBeLessThan(pieces / 4);
});

it('a Buffer that the client does not have yet is never given out again; of those that it has, 4 MiB are kept', async () => {
  const pieces = 24;
  const lent = new Set<ArrayBufferLike>();
  let asked: (response: ServerResponse) => void;
  const response = new Promise<ServerResponse>((resolve) => (asked = resolve));
  const body = await download((given) => {
    // More than a client takes that does not read: the first ones wait for their acknowledgement, the others to be sent.
    for (let piece = 0; piece < pieces; piece += 1) {
      const buffer = given.takeBuffer(size).fill(piece);
      lent.add(buffer.buffer);
      given.write(buffer);
    }
    given.end();
    asked(given);
    return Promise.resolve();
  });
  const given = await response;
  expect(lent.size).toBe(pieces);
  const takeBuffer = (): ArrayBufferLike => given.takeBuffer(size).buffer;
  const received: Buffer[] = [];
  for await (const chunk of body) received.push(chunk);
  const all = Buffer.concat(received);
  for (let piece = 0; piece < pieces; piece += 1) expect(all.subarray(piece * size, (piece + 1) * size).equals(Buffer.alloc(size, piece))).toBe(true);
  if (!recycles) return;
  // With the last acknowledgement.
  await vi.waitFor(() => expect(lent).toContain(takeBuffer()), 10_000);
  const taken = Array.from({ length: pieces }, takeBuffer);
  expect(taken.filter((memory) => lent.has(memory)).length).toBeLessThan(16);
});

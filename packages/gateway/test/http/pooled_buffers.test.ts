import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { createHttp3Server, type ServerResponse } from '@sheaf/native';
import { expect, it, onTestFinished, vi } from 'vitest';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { get as getHttps, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { Writable, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import { WrittenBuffers } from '../../src/http/written_buffers.js';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { startGateway } from '../support/gateway.js';
import { connect } from '../support/http3_client.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

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
  return await client.request({ method: 'GET', path: '/', authority: 'localhost' });
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
  for (let piece = 0; piece < pieces; piece += 1)
    expect(all.subarray(piece * size, (piece + 1) * size).equals(Buffer.alloc(size, piece))).toBe(true);
  if (!recycles) return;
  // With the last acknowledgement.
  await vi.waitFor(() => expect(lent).toContain(takeBuffer()), 30_000);
  const taken = Array.from({ length: pieces }, takeBuffer);
  expect(taken.filter((memory) => lent.has(memory)).length).toBeLessThan(16);
});

/** Takes a body in fits and starts, some of the time with less room than comes. */
async function slowHash(body: Readable, pause: number): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  const sink = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, callback) {
      hash.update(chunk);
      const rests = Math.floor(bytes / 1e6) !== Math.floor((bytes + chunk.length) / 1e6);
      bytes += chunk.length;
      if (rests) void sleep(pause).then(() => callback());
      else callback();
    },
  });
  await pipeline(body, sink);
  return hash.digest('hex');
}

it('files over HTTP/1.1 and HTTP/2 arrive whole at clients that read at different speeds', async () => {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  const content = randomFillSync(Buffer.alloc(12_345_678));
  await writeFile(join(directory, 'site', 'large.bin'), content);
  const expected = createHash('sha256').update(content).digest('hex');
  const { port } = await startGateway('routes: [{ files: ./site }]', directory);
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  const overHttp1 = (pause: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const options: RequestOptions & Pick<ConnectionOptions, 'ALPNProtocols'> = {
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
        agent: false,
      };
      getHttps(`https://127.0.0.1:${port}/large.bin`, options, (response) => resolve(slowHash(response, pause))).on(
        'error',
        reject,
      );
    });
  const hashes = await Promise.all(
    [0, 5, 20, 50].flatMap((pause) => [overHttp1(pause), slowHash(session.request({ ':path': '/large.bin' }), pause)]),
  );
  expect(new Set(hashes)).toEqual(new Set([expected]));
});

it('Buffers that were written serve again, 4 MiB of them at most', () => {
  const buffers = new WrittenBuffers();
  const first = buffers.take(64 * 1024);
  const second = buffers.take(64 * 1024);
  expect(second).not.toBe(first);
  expect(buffers.isTaken(first)).toBe(true);
  expect(buffers.isTaken(first.subarray(0, 10))).toBe(false);
  expect(buffers.isTaken(buffers.take(1000))).toBe(false);
  buffers.giveBack(first);
  buffers.giveBack(first);
  expect(buffers.isTaken(first)).toBe(false);
  expect(buffers.take(16 * 1024)).not.toBe(first);
  expect(buffers.take(64 * 1024)).toBe(first);
  expect(buffers.take(64 * 1024)).not.toBe(first);
  const many = Array.from({ length: 100 }, () => buffers.take(64 * 1024));
  for (const buffer of many) buffers.giveBack(buffer);
  const again = Array.from({ length: 100 }, () => buffers.take(64 * 1024));
  expect(again.filter((buffer) => many.includes(buffer))).toHaveLength(64);
});

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createHttp3Server,
  type Http3Client,
  type ReceivedBody,
  type ReceivedResponse,
  type ServerResponse,
} from '@sheaf/native';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { connect } from '../support/http3_client.js';

const content = randomBytes(3_000_001);

/** A client's GET of a server that does `answer`. */
async function exchange(
  answer: (response: ServerResponse) => void,
  alpn = 'h3',
): Promise<{ response: ReceivedResponse; client: Http3Client }> {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: [alpn], certificate });
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  server.on('request', (request, response) => {
    request.resume();
    answer(response);
  });
  const client = await connect(port, { alpn: [alpn] });
  return { response: await client.request({ method: 'GET', path: '/', authority: 'localhost' }), client };
}

async function get(answer: (response: ServerResponse) => void, alpn?: string): Promise<ReceivedResponse> {
  return (await exchange(answer, alpn)).response;
}

/** All of a body through one piece of memory, copied from it at once. */
async function readAll(body: ReceivedBody, buffer: Uint8Array): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let read = await body.readInto(buffer); read > 0; read = await body.readInto(buffer))
    pieces.push(Buffer.from(buffer.subarray(0, read)));
  return Buffer.concat(pieces);
}

describe('readInto', () => {
  it.each(['h3', 'hq-interop'])(
    'brings a whole response through one piece of memory, and says when it ends (%s)',
    async (alpn) => {
      const response = await get((outgoing) => outgoing.end(content), alpn);
      const closed = once(response, 'close');
      // An odd size, so that every read ends in the middle of something.
      const memory = new Uint8Array(70_003).fill(7);
      expect((await readAll(response, memory.subarray(2, 70_001))).equals(content)).toBe(true);
      await closed;
      expect(await response.readInto(memory)).toBe(0);
      expect(response.readableEnded).toBe(true);
      // What lies around the part that was offered is left alone.
      expect([...memory.subarray(0, 2), ...memory.subarray(70_001)]).toEqual([7, 7, 7, 7]);
    },
  );

  it('brings a request to a server, into shared memory as well', async () => {
    const certificate = await createDevCertificate(['localhost'], new Date());
    const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate });
    const { port } = await server.listen();
    onTestFinished(() => server.close(0));
    server.on('request', (request, response) => {
      void readAll(request, new Uint8Array(new SharedArrayBuffer(100_000))).then((body) =>
        response.end(createHash('sha256').update(body).digest('hex')),
      );
    });
    const response = await (await connect(port)).request({ method: 'POST', path: '/', body: content });
    expect((await readAll(response, new Uint8Array(100))).toString()).toBe(
      createHash('sha256').update(content).digest('hex'),
    );
  });

  it('makes no Buffer for what it brings', async () => {
    const length = 64 << 20;
    const response = await get((outgoing) => outgoing.end(Buffer.alloc(length)));
    const buffer = Buffer.alloc(256 << 10);
    const before = process.memoryUsage().arrayBuffers;
    let [bytes, most] = [0, 0];
    for (let read = await response.readInto(buffer); read > 0; read = await response.readInto(buffer)) {
      bytes += read;
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    expect(bytes).toBe(length);
    // Chunks of 64 KB would add up to several MiB before V8 collects them.
    expect(most).toBeLessThan(1 << 20);
  });

  it('takes turns with the other ways to read', async () => {
    const response = await get((outgoing) => outgoing.end(content));
    const pieces = [];
    for await (const chunk of response.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      pieces.push(chunk);
      if (pieces.length === 2) break;
    }
    const buffer = Buffer.alloc(10_000);
    for (let count = 0; count < 50; count += 1)
      pieces.push(Buffer.from(buffer.subarray(0, await response.readInto(buffer))));
    for await (const chunk of response as AsyncIterable<Buffer>) pieces.push(chunk);
    expect(Buffer.concat(pieces).equals(content)).toBe(true);
  });

  it('waits for one call at a time, and loses nothing to a buffer that is empty or was taken away', async () => {
    let outgoing!: ServerResponse;
    const response = await get((given) => {
      outgoing = given;
      given.write('first');
    });
    const buffer = Buffer.alloc(100);
    expect(await response.readInto(buffer)).toBe(5);
    await expect(response.readInto(Buffer.alloc(0))).rejects.toThrow(TypeError);

    const taken = new Uint8Array(100);
    const waiting = response.readInto(taken);
    await expect(response.readInto(buffer)).rejects.toThrow('await it first');
    structuredClone(taken, { transfer: [taken.buffer] });
    outgoing.end('second');
    await expect(waiting).rejects.toThrow(TypeError);
    expect((await readAll(response, buffer)).toString()).toBe('second');
  });

  it('rejects when the peer resets the stream, when the body is abandoned and when the connection ends', async () => {
    type End = (response: ReceivedResponse, outgoing: ServerResponse, client: Http3Client) => unknown;
    const ends: readonly [End, string][] = [
      [(_response, outgoing) => outgoing.destroy(), 'STREAM_RESET'],
      [(response) => response.destroy(), 'REQUEST_CANCELLED'],
      [(_response, _outgoing, client) => client.close(), 'STREAM_RESET'],
    ];
    const buffer = Buffer.alloc(100);
    for (const [end, code] of ends) {
      let outgoing!: ServerResponse;
      const { response, client } = await exchange((given) => {
        outgoing = given;
        given.write('begun');
      });
      expect(await response.readInto(buffer)).toBe(5);
      const waiting = response.readInto(buffer);
      end(response, outgoing, client);
      await expect(waiting).rejects.toMatchObject({ code });
      await expect(response.readInto(buffer)).rejects.toMatchObject({ code });
    }
  });
});

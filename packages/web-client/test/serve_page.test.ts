import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  ERROR_CODES,
  decodePong,
  decodeResponseHead,
  encodePing,
  encodeRequestHead,
  readHead,
  type BidirectionalStream,
  type RequestHead,
} from '../src/protocol/index.js';
import {
  isOriginAllowed,
  servePage,
  type PageRequest,
  type PageResponse,
  type PageStream,
  type ServePageOptions,
} from '../src/gateway_side/index.js';
import { memorySession, type MemorySession } from './memory_session.js';

const get: RequestHead = {
  method: 'GET',
  url: 'https://a.test/',
  destination: '',
  priority: { urgency: 3, incremental: false },
  credentials: 'omitted',
  headers: [],
};
const hello: PageResponse = { status: 200, headers: [], body: Buffer.from('hello') };

function serve(
  handle: (request: PageRequest) => Promise<PageResponse>,
  options?: ServePageOptions,
): MemorySession & { served: Promise<void> } {
  const session = memorySession();
  return { ...session, served: servePage(session.gateway, handle, options) };
}

async function send(session: MemorySession, ...chunks: Uint8Array[]): Promise<BidirectionalStream> {
  const stream = await session.browser.createBidirectionalStream();
  const writer = stream.writable.getWriter();
  for (const chunk of chunks) void writer.write(chunk).catch(() => undefined);
  writer.close().catch(() => undefined);
  return stream;
}

async function receive(stream: BidirectionalStream): Promise<{ status: number; body: string }> {
  const reader = stream.readable.getReader();
  const { head, rest } = await readHead(reader, decodeResponseHead);
  const body = [rest];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { status: head.status, body: Buffer.concat(body).toString() };
    body.push(value);
  }
}

async function resetCode(stream: BidirectionalStream): Promise<unknown> {
  try {
    await receive(stream);
  } catch (error) {
    return (error as { streamErrorCode?: number }).streamErrorCode;
  }
  return 'not reset';
}

async function text(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}

test('a stream gets the priority that its request names, and learns how long its response is', async () => {
  const session = memorySession();
  const order: unknown[] = [];
  const streams = session.gateway.incomingBidirectionalStreams.pipeThrough(
    new TransformStream<PageStream, PageStream>({
      transform: (stream, controller) =>
        controller.enqueue({
          ...stream,
          setPriority: (priority) => void order.push(priority),
          setExpectedBytes: (bytes) => void order.push(bytes),
        }),
    }),
  );
  void servePage({ ...session.gateway, incomingBidirectionalStreams: streams }, async () => {
    order.push('answered');
    return { ...hello, headers: [['content-length', '5']] };
  });
  const priority = {
    urgency: 1,
    incremental: true,
    dependency: { node: 16, parent: 7, weight: 32, exclusive: false },
  };
  expect(await receive(await send(session, encodeRequestHead({ ...get, priority })))).toMatchObject({ status: 200 });
  // Two bytes of version and length, four of the status, three and 15 of the header, the body.
  expect(order).toEqual([priority, 'answered', 2 + 4 + 3 + 15 + 5]);
});

describe('a request', () => {
  test('is answered with head and body', async () => {
    const session = serve(async ({ method, url }) => ({
      status: 203,
      headers: [['x-a', 'b']],
      body: Buffer.from(`${method} ${url}`),
    }));
    expect(await receive(await send(session, encodeRequestHead(get)))).toEqual({
      status: 203,
      body: 'GET https://a.test/',
    });
  });

  test('arrives byte by byte', async () => {
    const session = serve(async ({ body }) => ({ ...hello, body: Buffer.from(await text(body)) }));
    const bytes = [...encodeRequestHead({ ...get, method: 'POST' }), ...Buffer.from('upload')];
    const stream = await send(session, ...bytes.map((byte) => Uint8Array.of(byte)));
    expect((await receive(stream)).body).toBe('upload');
  });

  test('is answered from a Node stream and from a web stream', async () => {
    for (const body of [Readable.from([Buffer.from('he'), Buffer.from('llo')]), new Blob(['hello']).stream()]) {
      const session = serve(async () => ({ ...hello, body: body as AsyncIterable<Uint8Array> }));
      expect((await receive(await send(session, encodeRequestHead(get)))).body).toBe('hello');
    }
  });

  test.each([
    ['HEAD', 200],
    ['GET', 304],
    ['GET', 204],
  ] as const)('%s with status %i gets no body', async (method, status) => {
    const session = serve(async () => ({ ...hello, status }));
    const stream = await send(session, encodeRequestHead({ ...get, method }));
    expect(await receive(stream)).toEqual({ status, body: '' });
  });

  test('whose handler fails is reset with `internal`, and the failure is told', async () => {
    const onError = vi.fn();
    const session = serve(() => Promise.reject(new Error('broken')), { onError });
    expect(await resetCode(await send(session, encodeRequestHead(get)))).toBe(ERROR_CODES.internal);
    expect(onError).toHaveBeenCalledWith(new Error('broken'), get);
  });

  test('whose answer has a wrong head is reset with `internal`', async () => {
    const session = serve(async () => ({ ...hello, headers: [['bad name', 'x']] }));
    expect(await resetCode(await send(session, encodeRequestHead(get)))).toBe(ERROR_CODES.internal);
  });

  test('above the limit of open requests is refused', async () => {
    const session = serve(() => new Promise(() => undefined), { maxRequests: 1 });
    await send(session, encodeRequestHead(get));
    expect(await resetCode(await send(session, encodeRequestHead(get)))).toBe(ERROR_CODES.refused);
  });

  test('is aborted when the browser cancels it, and so is the body', async () => {
    let signal: AbortSignal | undefined;
    const body = new Readable({ read: () => undefined });
    const session = serve(async (request) => {
      ({ signal } = request);
      body.push('first');
      return { ...hello, body };
    });
    const stream = await send(session, encodeRequestHead(get));
    const reader = stream.readable.getReader();
    await reader.read();
    await reader.cancel();
    await vi.waitFor(() => expect(signal?.aborted).toBe(true), 30_000);
    body.push('second'); // Whoever produces notices with the next chunk.
    await vi.waitFor(() => expect(body.destroyed).toBe(true), 30_000);
  });

  test('waits for a slow reader instead of filling memory', async () => {
    let produced = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; produced < 10_000; produced += 1) yield new Uint8Array(1000);
    }
    const session = serve(async () => ({ ...hello, body: endless() }));
    const stream = await send(session, encodeRequestHead(get));
    await readHead(stream.readable.getReader(), decodeResponseHead);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(produced).toBeLessThan(100);
  });
});

describe('a session', () => {
  test.each([
    ['an unknown version', Uint8Array.of(9, 0), ERROR_CODES.unsupported_version],
    ['a head that is too large', Uint8Array.of(1, 0x80, 1, 0, 1), ERROR_CODES.too_large],
    ['bytes that are no head', Uint8Array.of(1, 2, 1, 9), ERROR_CODES.malformed],
    ['a stream that ends inside its head', Uint8Array.of(1), ERROR_CODES.malformed],
  ])('ends with the right code after %s', async (_name, bytes, code) => {
    const session = serve(async () => hello);
    await send(session, bytes);
    expect(await session.closed).toMatchObject({ closeCode: code });
    await session.served;
  });

  test('resets a stream whose head does not come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const session = serve(async () => hello, { headTimeoutMs: 10 });
    const stream = await session.browser.createBidirectionalStream();
    const code = resetCode(stream);
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 30_000, interval: 1 });
    vi.advanceTimersByTime(10);
    expect(await code).toBe(ERROR_CODES.timeout);
    expect((await receive(await send(session, encodeRequestHead(get)))).body).toBe('hello');
  });

  test('answers pings and drops other datagrams', async () => {
    const session = serve(async () => hello);
    const writer = session.browser.datagrams.writable!.getWriter();
    const pong = session.browser.datagrams.readable.getReader().read();
    for (const datagram of [Uint8Array.of(0), Uint8Array.of(7, 7), encodePing(2 ** 53 - 1)]) {
      void writer.write(datagram);
    }
    expect(decodePong((await pong).value!)).toBe(2 ** 53 - 1);
  });

  test('that is lost aborts its requests and ends', async () => {
    let signal: AbortSignal | undefined;
    const session = serve((request) => {
      ({ signal } = request);
      return new Promise(() => undefined);
    });
    await send(session, encodeRequestHead(get));
    await vi.waitFor(() => expect(signal).toBeDefined(), 30_000);
    session.lose();
    await session.served;
    expect(signal?.aborted).toBe(true);
  });
});

test.each([
  ['https://a.test', 'a.test', true],
  ['https://a.test:8443', 'a.test:443', true],
  ['http://localhost:3000', '127.0.0.1:4433', true],
  ['http://[::1]:3000', 'localhost:4433', true],
  ['https://b.test', 'a.test', false],
  ['http://a.test', 'a.test', false],
  ['https://b.test', '127.0.0.1:4433', false],
  ['http://127.0.0.1.evil.test', '127.0.0.1:4433', false],
  ['http://localhost', 'a.test', false],
  ['null', 'a.test', false],
  [undefined, 'a.test', false],
])('origin %s may use %s: %s', (origin, authority, allowed) => {
  expect(isOriginAllowed(origin, authority)).toBe(allowed);
});

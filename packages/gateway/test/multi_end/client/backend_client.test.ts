import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { ClientRequestOptions, ClientResponse, HeaderMap, Http3Client } from '@sheaf/native';
import { describe, expect, it, vi } from 'vitest';
import { BackendClient } from '../../../src/multi_end/client/backend_client.js';
import { lostConnection } from '../../../src/http/proxied_request.js';
import { collect } from '../../support/client.js';

const whole = Buffer.from(Array.from({ length: 1_000 }, (_each, index) => index % 251));
const etag = '"1"';

class LostBackend extends Error {
  readonly code = 'BACKEND_LOST';
}

class FakeResponse extends Readable implements ClientResponse {
  readonly trailers = {};
  constructor(
    readonly status: number,
    readonly headers: HeaderMap,
    private readonly chunks: Buffer[],
    private readonly failure?: Error,
  ) {
    super();
    this.on('error', () => undefined);
  }

  override _read(): void {
    const chunk = this.chunks.shift();
    if (chunk) this.push(chunk);
    else if (this.failure) this.destroy(this.failure);
    else this.push(null);
  }
}

/** A file as a server gives it; `breaks` after so many bytes of the response. */
function serve({ headers = {} }: ClientRequestOptions, breaks?: number, tag = etag): ClientResponse {
  const range = /^bytes=(\d+)-(\d*)$/.exec(String(headers['range'] ?? ''));
  const current = headers['if-range'] === undefined || headers['if-range'] === tag;
  const first = range && current ? Number(range[1]) : 0;
  const last = range && current && range[2] !== '' ? Number(range[2]) : whole.length - 1;
  const body = whole.subarray(first, last + 1);
  const head: HeaderMap = {
    etag: tag,
    'content-length': String(body.length),
    ...(range && current ? { 'content-range': `bytes ${first}-${last}/${whole.length}` } : {}),
  };
  const sent = body.subarray(0, breaks);
  const chunks = Array.from({ length: Math.ceil(sent.length / 100) }, (_each, index) =>
    sent.subarray(index * 100, index * 100 + 100),
  );
  return new FakeResponse(
    range && current ? 206 : 200,
    head,
    chunks,
    breaks === undefined ? undefined : new LostBackend('gone'),
  );
}

interface Asked {
  backend: number | undefined;
  path: string;
  range?: string;
}

type Answer = (options: ClientRequestOptions) => ClientResponse | Promise<ClientResponse>;

/** A connection with two backends whose answers the test decides. */
class FakeClient extends EventEmitter {
  readonly asked: Asked[] = [];
  version = 'a';
  backends = [0, 1];
  maps = 0;
  rtt = new Map([
    [0, 10],
    [1, 20],
  ]);
  answers = new Map<number | undefined, Answer>();
  closed = false;

  openBackend(backend: number): Promise<number> {
    this.emit('backendPathOpen', { backend, path: backend * 2 + 1 });
    return Promise.resolve(backend * 2 + 1);
  }
  status(): object {
    return { backends: [...this.rtt].map(([backend, smoothedRttMs]) => ({ backend, smoothedRttMs })) };
  }
  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
  async request(options: ClientRequestOptions): Promise<ClientResponse> {
    if (options.path === '/.well-known/sheaf/routes') {
      this.maps += 1;
      const map = {
        version: this.version,
        routes: [
          { path: '/images', backends: this.backends },
          { path: '/', backends: [] },
        ],
      };
      return Promise.resolve(new FakeResponse(200, {}, [Buffer.from(JSON.stringify(map))]));
    }
    const range = options.headers?.['range'];
    this.asked.push({
      backend: options.backend,
      path: options.path,
      ...(range === undefined ? {} : { range: String(range) }),
    });
    const answer = this.answers.get(options.backend) ?? serve;
    return new Promise((resolve, reject) => {
      options.signal?.addEventListener('abort', () => reject(new Error('abandoned')));
      Promise.resolve(answer(options)).then((response) => setImmediate(() => resolve(response)), reject);
    });
  }
  offer(...backends: number[]): void {
    for (const backend of backends)
      this.emit('backendOffered', { backend, path: backend * 2 + 1, address: '127.0.0.1', port: 1 });
  }
}

async function connected(): Promise<{ fake: FakeClient; client: BackendClient }> {
  const fake = new FakeClient();
  const client = new BackendClient(fake as unknown as Http3Client);
  fake.offer(0, 1);
  await client.ready(60_000);
  return { fake, client };
}

const fail = (error: object) => (): never => {
  throw Object.assign(new Error('failed'), error);
};
/** RFC 9114 §4.1.1: nothing was done about the request. */
const rejected = { code: 'STREAM_RESET', errorCode: 0x10b };
async function readAll(body: ClientRequestOptions['body']): Promise<string> {
  let read = '';
  if (body && !Buffer.isBuffer(body)) for await (const chunk of body) read += String(chunk);
  return read;
}
const askedBackends = ({ asked }: FakeClient): (number | undefined)[] => asked.map(({ backend }) => backend);

describe('a client of several servers', () => {
  it('sends each request to the server that answers it', async () => {
    const { fake, client } = await connected();
    for (const path of ['/images/a.png', '/', '/imagesx', '/images']) await collect(await client.request({ path }));
    expect(askedBackends(fake)).toEqual([0, undefined, undefined, 0]);
  });

  it('asks the gateway while it knows nothing better', async () => {
    const fake = new FakeClient();
    const client = new BackendClient(fake as unknown as Http3Client);
    await collect(await client.request({ path: '/images/a.png' }));
    expect(askedBackends(fake)).toEqual([undefined]);
    expect(fake.maps).toBe(0);
  });

  it('opens backends that were offered before it looked', async () => {
    const fake = new FakeClient();
    fake.status = () => ({
      backends: [
        { backend: 0, state: 'offered', smoothedRttMs: 0 },
        { backend: 1, state: 'withdrawn', smoothedRttMs: 0 },
      ],
    });
    const client = new BackendClient(fake as unknown as Http3Client);
    await client.ready(60_000);
    await collect(await client.request({ path: '/images/a.png' }));
    expect(askedBackends(fake)).toEqual([0]);
  });

  it('chooses by round trip, by what is in flight, and by load', async () => {
    const { fake, client } = await connected();
    const held: ClientResponse[] = [];
    for (let index = 0; index < 6; index++) held.push(await client.request({ path: '/images/a.png' }));
    // Twice as far: it gets every third.
    expect(askedBackends(fake).filter((backend) => backend === 1)).toHaveLength(2);
    for (const response of held) await collect(response);
    fake.asked.length = 0;
    fake.answers.set(0, (options) => Object.assign(serve(options), { headers: { 'sheaf-load': '0.900', etag } }));
    const first = await client.request({ path: '/images/a.png' });
    expect(first.headers).not.toHaveProperty('sheaf-load');
    await collect(first);
    await collect(await client.request({ path: '/images/a.png' }));
    expect(askedBackends(fake)).toEqual([0, 1]);
  });

  it('uses no backend that is withdrawn or lost, and one that comes back', async () => {
    const { fake, client } = await connected();
    fake.emit('backendWithdrawn', { backend: 0, path: 1, reason: 'drains' });
    await collect(await client.request({ path: '/images/a.png' }));
    fake.emit('backendLost', { backend: 1, path: 3, errorCode: 0 });
    await collect(await client.request({ path: '/images/a.png' }));
    fake.offer(0);
    await collect(await client.request({ path: '/images/a.png' }));
    expect(askedBackends(fake)).toEqual([1, undefined, 0]);
  });

  it('reads the map again when a response of the gateway has another version', async () => {
    const { fake, client } = await connected();
    fake.version = 'b';
    fake.backends = [1];
    fake.answers.set(undefined, (options) => Object.assign(serve(options), { headers: { 'sheaf-routes': '"b"' } }));
    await collect(await client.request({ path: '/' }));
    // Until it has read the map, it goes by the one before.
    await vi.waitFor(async () => {
      fake.asked.length = 0;
      await collect(await client.request({ path: '/images/a.png' }));
      expect(askedBackends(fake)).toEqual([1]);
    }, 30_000);
    await collect(await client.request({ path: '/' }));
    expect(askedBackends(fake)).toEqual([1, undefined]);
    expect(fake.maps).toBe(2);
  });

  it('does without a map that makes no sense', async () => {
    const fake = new FakeClient();
    fake.version = '';
    const client = new BackendClient(fake as unknown as Http3Client);
    fake.offer(0, 1);
    await client.ready(60_000);
    await collect(await client.request({ path: '/images/a.png' }));
    expect(askedBackends(fake)).toEqual([undefined]);
  });
});

describe('when a backend is lost', () => {
  it('a download goes on where it was, at another backend and at last at the gateway', async () => {
    const { fake, client } = await connected();
    fake.answers.set(0, (options) => serve(options, 250));
    fake.answers.set(1, (options) => serve(options, 300));
    const response = await client.request({ path: '/images/a.png' });
    expect(response.status).toBe(200);
    expect((await collect(response)).equals(whole)).toBe(true);
    expect(fake.asked).toEqual([
      { backend: 0, path: '/images/a.png' },
      { backend: 1, path: '/images/a.png', range: 'bytes=250-999' },
      { backend: undefined, path: '/images/a.png', range: 'bytes=550-999' },
    ]);
  });

  it('a part of a file goes on within that part', async () => {
    const { fake, client } = await connected();
    fake.answers.set(0, (options) => serve(options, 50));
    const response = await client.request({ path: '/images/a.png', headers: { range: 'bytes=100-299' } });
    expect(response.status).toBe(206);
    expect((await collect(response)).equals(whole.subarray(100, 300))).toBe(true);
    expect(fake.asked[1]).toMatchObject({ backend: 1, range: 'bytes=150-299' });
  });

  it('its owner hears which server sends which part', async () => {
    const { fake, client } = await connected();
    fake.answers.set(0, (options) => serve(options, 250));
    fake.answers.set(1, (options) => serve(options, 300));
    const parts: { backend: number | undefined; bytes: number }[] = [];
    const listener = {
      begin: (backend: number | undefined) => void parts.push({ backend, bytes: 0 }),
      received: (bytes: number) => void (parts.at(-1)!.bytes += bytes),
    };
    expect((await collect(await client.request({ path: '/images/a.png' }, listener))).equals(whole)).toBe(true);
    expect(parts).toEqual([
      { backend: 0, bytes: 250 },
      { backend: 1, bytes: 300 },
      { backend: undefined, bytes: 450 },
    ]);
    parts.length = 0;
    fake.answers.set(0, fail({ code: 'BACKEND_LOST' }));
    fake.answers.delete(1);
    expect((await collect(await client.request({ path: '/images/a.png' }, listener))).equals(whole)).toBe(true);
    expect(parts).toEqual([
      { backend: 0, bytes: 0 },
      { backend: 1, bytes: 1_000 },
    ]);
    parts.length = 0;
    expect((await collect(await client.request({ path: '/' }, listener))).equals(whole)).toBe(true);
    expect(parts).toEqual([{ backend: undefined, bytes: 1_000 }]);
  });

  it('a response that was complete is complete', async () => {
    const { fake, client } = await connected();
    fake.answers.set(0, (options) => serve(options, whole.length));
    expect((await collect(await client.request({ path: '/images/a.png' }))).equals(whole)).toBe(true);
    expect(fake.asked).toHaveLength(1);
  });

  it('nothing is put together from two states of a file', async () => {
    const { fake, client } = await connected();
    fake.answers.set(0, (options) => serve(options, 250));
    fake.answers.set(1, (options) => serve(options, undefined, '"2"'));
    await expect(collect(await client.request({ path: '/images/a.png' }))).rejects.toMatchObject({
      code: 'BACKEND_LOST',
    });
    fake.answers.set(0, (options) => serve(options, 250, 'W/"1"'));
    fake.rtt.set(1, 1_000);
    await new Promise((resolve) => setTimeout(resolve, 120));
    await expect(collect(await client.request({ path: '/images/a.png' }))).rejects.toMatchObject({
      code: 'BACKEND_LOST',
    });
  });

  it('what may be repeated is asked of others, and nothing else', async () => {
    const cases: [ClientRequestOptions, object, boolean][] = [
      [{ path: '/images/a', method: 'GET' }, { code: 'BACKEND_LOST' }, true],
      [{ path: '/images/a', method: 'PUT', body: Buffer.from('x') }, { code: 'BACKEND_LOST' }, true],
      [{ path: '/images/a', method: 'POST', body: Buffer.from('x') }, { code: 'BACKEND_LOST' }, false],
      [{ path: '/images/a', method: 'PUT', body: Readable.from(['x']) }, { code: 'BACKEND_LOST' }, true],
      [{ path: '/images/a', method: 'POST', body: Readable.from(['x']) }, { code: 'BACKEND_LOST' }, false],
      [{ path: '/images/a', method: 'POST' }, { code: 'BACKEND_REFUSED' }, true],
      [{ path: '/images/a', method: 'POST', body: Readable.from(['x']) }, { code: 'BACKEND_REFUSED' }, true],
      [{ path: '/images/a', method: 'POST', body: Buffer.from('x') }, { code: 'STREAM_RESET', errorCode: 0x10b }, true],
      [
        { path: '/images/a', method: 'POST', body: Readable.from(['x']) },
        { code: 'STREAM_RESET', errorCode: 0x10b },
        true,
      ],
      [{ path: '/images/a', method: 'GET' }, { code: 'STREAM_RESET', errorCode: 0x102 }, false],
    ];
    for (const [options, error, repeated] of cases) {
      const { fake, client } = await connected();
      fake.answers.set(0, fail(error));
      fake.answers.set(1, fail(error));
      const answer = client.request(options);
      if (repeated) expect((await answer).status).toBe(200);
      else await expect(answer).rejects.toMatchObject(error);
      expect(askedBackends(fake)).toEqual(repeated ? [0, 1, undefined] : [0]);
    }
  });

  it('a request that a backend rejects says nothing about the connection, even if its body cannot be sent again', async () => {
    const { fake, client } = await connected();
    fake.answers.set(0, async ({ body }) => {
      await readAll(body);
      return fail(rejected)();
    });
    const large = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(1_000)));
    const error: unknown = await client
      .request({ path: '/images/a', method: 'POST', body: large })
      .catch((caught: unknown) => caught);
    expect(askedBackends(fake)).toEqual([0]);
    expect(error).toMatchObject({ code: 'BACKEND_REJECTED' });
    expect(lostConnection(error)).toBe(false);
    // The gateway that rejects is going away.
    fake.answers.set(undefined, fail(rejected));
    expect(lostConnection(await client.request({ path: '/' }).catch((caught: unknown) => caught))).toBe(true);
  });

  it('a body that streams is sent from its start to the server that takes it', async () => {
    const { fake, client } = await connected();
    const read: string[] = [];
    const answer =
      (result: () => ClientResponse): Answer =>
      async ({ body }) => {
        read.push(await readAll(body));
        return result();
      };
    fake.answers.set(0, answer(fail(rejected)));
    fake.answers.set(1, answer(fail(rejected)));
    fake.answers.set(
      undefined,
      answer(() => new FakeResponse(200, {}, [])),
    );
    const response = await client.request({ path: '/images/a', method: 'POST', body: Readable.from(['one ', 'two']) });
    expect([response.status, askedBackends(fake), read]).toEqual([
      200,
      [0, 1, undefined],
      ['one two', 'one two', 'one two'],
    ]);
  });

  it('a request that its owner abandoned is not repeated', async () => {
    const { fake, client } = await connected();
    const controller = new AbortController();
    fake.answers.set(0, () => {
      controller.abort();
      return fail({ code: 'BACKEND_LOST' })();
    });
    await expect(client.request({ path: '/images/a', signal: controller.signal })).rejects.toThrow();
    expect(askedBackends(fake)).toEqual([0]);
  });
});

/** A connection with these backends, and another one for what it cannot finish: `anew` has what was asked there. */
async function connectedWithNext(
  ...backends: number[]
): Promise<{ fake: FakeClient; client: BackendClient; anew: ClientRequestOptions[] }> {
  const fake = new FakeClient();
  const anew: ClientRequestOptions[] = [];
  const client = new BackendClient(fake as unknown as Http3Client, {
    elsewhere: (options) => {
      anew.push(options);
      return Promise.resolve(serve(options));
    },
  });
  fake.offer(...backends);
  await client.ready(60_000);
  return { fake, client, anew };
}

describe('when the gateway is lost', () => {
  it('requests to it fail at once, those at backends go on, and then the connection ends', async () => {
    const { fake, client } = await connected();
    fake.answers.set(undefined, (options) => new FakeResponse(200, options.headers ?? {}, []));
    const download = await client.request({ path: '/images/a.png' });
    const waiting = client.request({ path: '/' });
    fake.emit('primaryLost');
    await expect(waiting).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await expect(client.request({ path: '/' })).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect(fake.closed).toBe(false);
    expect((await collect(download)).equals(whole)).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.closed).toBe(true);
  });

  it('a download whose backend falls silent goes on over another connection', async () => {
    const { fake, client, anew } = await connectedWithNext(0);
    const silent = new Readable({ read: () => undefined });
    silent.push(whole.subarray(0, 400));
    fake.answers.set(0, () =>
      Object.assign(silent, { status: 200, headers: { etag, 'content-length': '1000' }, trailers: {} }),
    );
    const response = await client.request({ path: '/images/a.png' });
    fake.emit('primaryLost');
    const began = performance.now();
    expect((await collect(response)).equals(whole)).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(2_900);
    expect(anew.map(({ headers }) => headers?.['range'])).toEqual(['bytes=400-999']);
    // What is asked now goes there, too.
    await collect(await client.request({ path: '/images/a.png' }));
    expect(anew).toHaveLength(2);
    expect(fake.closed).toBe(true);
  });

  it('a download of the gateway itself goes on over another connection, too', async () => {
    const { fake, client, anew } = await connectedWithNext(0);
    const cut = new Readable({ read: () => undefined });
    cut.push(whole.subarray(0, 300));
    fake.answers.set(undefined, () =>
      Object.assign(cut, { status: 200, headers: { etag, 'content-length': '1000' }, trailers: {} }),
    );
    const response = await client.request({ path: '/' });
    // As its first bytes are on their way.
    await new Promise((resolve) => setImmediate(resolve));
    fake.emit('primaryLost');
    expect((await collect(response)).equals(whole)).toBe(true);
    expect(anew).toHaveLength(1);
    expect(anew[0]?.headers?.['if-range']).toBe(etag);
  });

  it('a download of the gateway that cannot be resumed fails as lost', async () => {
    const { fake, client } = await connected();
    const cut = new Readable({ read: () => undefined });
    fake.answers.set(undefined, () => Object.assign(cut, { status: 200, headers: {}, trailers: {} }));
    const response = await client.request({ path: '/' });
    fake.emit('primaryLost');
    await expect(collect(response)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  it('a request that a backend leaves unanswered is asked over another connection, not of another backend of this one', async () => {
    const { fake, client } = await connectedWithNext(0, 1);
    const silence = ({ signal }: ClientRequestOptions): Promise<never> =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('abandoned'))));
    fake.answers.set(0, silence);
    const response = client.request({ path: '/images/a.png' });
    fake.emit('primaryLost');
    expect((await collect(await response)).equals(whole)).toBe(true);
    expect(askedBackends(fake)).toEqual([0]);
  });
});

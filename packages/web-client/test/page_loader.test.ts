import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { CredentialsNeeded, servePage, type PageRequest, type PageResponse } from '../src/gateway_side/index.js';
import { GatewaySession, type Transport } from '../src/service_worker/gateway_session.js';
import { HttpCache } from '../src/service_worker/http_cache.js';
import { LoadLog, type Load } from '../src/service_worker/load_log.js';
import { PageLoader } from '../src/service_worker/page_loader.js';
import { RequestOrder } from '../src/service_worker/request_order.js';
import { VisitorCredentials } from '../src/service_worker/visitor_credentials.js';
import { MemoryCache } from './memory_cache.js';
import { memorySession, type MemorySession } from './memory_session.js';

const visitor = { userAgent: 'test/1', languages: ['en', 'de'], encodings: ['gzip'] };
const hello: PageResponse = { status: 200, headers: [], body: Buffer.from('hello') };
const url = 'https://a.test/page';

interface World {
  loader: PageLoader;
  session: GatewaySession;
  sessions: MemorySession[];
  network: ReturnType<typeof vi.fn<(request: Request) => Promise<Response>>>;
  loads: () => Load[];
  /** What the gateway says about the browser's cookies when it is asked. */
  hasCookies: ReturnType<typeof vi.fn<() => Promise<boolean>>>;
  /** The cookies that scripts see. */
  visibleCookies: string[];
  stored: MemoryCache;
}

/** A page loader whose gateway answers with `handle`; `connect` replaces the way to it. */
function world(
  handle: (request: PageRequest, session: MemorySession) => Promise<PageResponse>,
  connect?: (attempt: number, refresh: boolean, open: () => Transport) => Promise<Transport>,
  maxRequests?: number,
): World {
  const sessions: MemorySession[] = [];
  const open = (): Transport => {
    const created = memorySession();
    sessions.push(created);
    const options = maxRequests === undefined ? {} : { maxRequests };
    void servePage(created.gateway, (request) => handle(request, created), options);
    return created.browser;
  };
  let attempts = 0;
  const session = new GatewaySession(async (refresh) =>
    connect === undefined ? open() : connect(attempts++, refresh, open),
  );
  const log = new LoadLog(() => undefined);
  const network = vi.fn(async () => new Response('from the network'));
  const hasCookies = vi.fn(async () => false);
  const visibleCookies: string[] = [];
  const credentials = new VisitorCredentials({ ask: hasCookies, cookies: async () => visibleCookies });
  const stored = new MemoryCache();
  const cache = new HttpCache(async () => stored as unknown as Cache);
  return {
    loader: new PageLoader({ session, log, visitor, order: new RequestOrder(), credentials, cache, network }),
    hasCookies,
    visibleCookies,
    stored,
    session,
    sessions,
    network,
    loads: () => [...log.history()],
  };
}

function respond(loader: PageLoader, request: Request, clientId = 'page', resultingClientId = ''): Promise<Response> {
  return loader.respond(request, { clientId, resultingClientId });
}

/** Without credentials: others are left to the browser. */
function post(body: string): Request {
  return new Request(url, { method: 'POST', body, credentials: 'omit' });
}

afterEach(() => vi.useRealTimers());

describe('a request', () => {
  test('goes over the session with what a browser would say', async () => {
    let seen: PageRequest | undefined;
    const { loader, loads, network } = world(async (request) => {
      seen = request;
      return { ...hello, headers: [['x-answer', 'yes']] };
    });
    const response = await respond(loader, new Request(`${url}#part`, { headers: { accept: 'a/b' } }));
    expect(await response.text()).toBe('hello');
    expect(response.headers.get('x-answer')).toBe('yes');
    expect(response.headers.get('server-timing')).toMatch(/^sheaf-webtransport;dur=\d+\.\d;desc=/);
    expect(seen).toMatchObject({ method: 'GET', url, priority: { urgency: 1, incremental: true } });
    expect(Object.fromEntries(seen!.headers)).toMatchObject({
      accept: 'a/b',
      'user-agent': 'test/1',
      'accept-language': 'en, de',
      'accept-encoding': 'gzip',
    });
    expect(network).not.toHaveBeenCalled();
    expect(loads()).toMatchObject([{ transport: 'webtransport', state: 'done', status: 200, attempts: 1 }]);
  });

  test('carries its body', async () => {
    const { loader } = world(async ({ body }) => ({
      ...hello,
      body: Buffer.from(`got ${await new Response(body).text()}`),
    }));
    expect(await (await respond(loader, post('upload'))).text()).toBe('got upload');
  });

  test('carries its body in browsers that do not give it as a stream', async () => {
    const { loader } = world(async ({ body }) => ({
      ...hello,
      body: Buffer.from(`got ${await new Response(body).text()}`),
    }));
    const request = Object.defineProperty(post('upload'), 'body', { value: undefined });
    expect(await (await respond(loader, request)).text()).toBe('got upload');
  });

  test('gets its content coding taken off', async () => {
    const { loader } = world(async () => ({
      status: 200,
      headers: [
        ['content-encoding', 'gzip'],
        ['content-length', '25'],
      ],
      body: gzipSync('hello'),
    }));
    const response = await respond(loader, new Request(url));
    expect(await response.text()).toBe('hello');
    expect(response.headers.has('content-encoding')).toBe(false);
    expect(response.headers.has('content-length')).toBe(false);
  });

  test.each([204, 304])('is answered with status %i and no body', async (status) => {
    const { loader, loads } = world(async () => ({ ...hello, status }));
    const response = await respond(loader, new Request(url));
    expect([response.status, response.body]).toEqual([status, null]);
    await vi.waitFor(() => expect(loads()[0]?.state).toBe('done'), 30_000);
  });

  test('that is cancelled tells the gateway', async () => {
    let signal: AbortSignal | undefined;
    const { loader, network } = world((request) => {
      ({ signal } = request);
      return new Promise(() => undefined);
    });
    const abort = new AbortController();
    const response = respond(loader, new Request(url, { signal: abort.signal }));
    await vi.waitFor(() => expect(signal).toBeDefined(), 30_000);
    abort.abort();
    await expect(response).rejects.toThrow();
    await vi.waitFor(() => expect(signal?.aborted).toBe(true), 30_000);
    expect(network).not.toHaveBeenCalled();
  });
});

describe('trouble', () => {
  test('refused streams are tried again', async () => {
    const { loader, loads } = world(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return hello;
      },
      undefined,
      1,
    );
    const text = async (): Promise<string> => (await respond(loader, new Request(url))).text();
    expect(await Promise.all([text(), text()])).toEqual(['hello', 'hello']);
    expect(loads().map(({ transport }) => transport)).toEqual(['webtransport', 'webtransport']);
    expect(Math.max(...loads().map(({ attempts }) => attempts))).toBeGreaterThan(1);
  });

  test('a stream that the browser has no credit for is opened a little later', async () => {
    let refusals = 3;
    const { loader, network } = world(
      async () => hello,
      async (_attempt, _refresh, open) => {
        const transport = open();
        return {
          ...transport,
          createBidirectionalStream: () =>
            refusals-- > 0 ? Promise.reject(new Error('no credit')) : transport.createBidirectionalStream(),
        };
      },
    );
    expect(await (await respond(loader, new Request(url))).text()).toBe('hello');
    expect(network).not.toHaveBeenCalled();
  });

  test('a lost session is replaced and a GET repeated', async () => {
    const { loader, sessions, network } = world((_request, session) => {
      if (session !== sessions[0]) return Promise.resolve(hello);
      session.lose();
      return new Promise(() => undefined);
    });
    expect(await (await respond(loader, new Request(url))).text()).toBe('hello');
    expect(sessions).toHaveLength(2);
    expect(network).not.toHaveBeenCalled();
  });

  test('a POST that was sent is not repeated', async () => {
    const { loader, sessions, network, loads } = world((_request, session) => {
      session.lose();
      return new Promise(() => undefined);
    });
    await expect(respond(loader, post('once'))).rejects.toThrow();
    expect(sessions).toHaveLength(1);
    expect(network).not.toHaveBeenCalled();
    expect(loads()).toMatchObject([{ state: 'failed' }]);
  });

  test('a body that breaks off is an error, not a short file', async () => {
    const { loader, loads } = world(async (_request, session) => ({
      ...hello,
      body: (async function* () {
        yield Buffer.from('half');
        await new Promise((resolve) => setTimeout(resolve, 5));
        session.lose();
      })(),
    }));
    const response = await respond(loader, new Request(url));
    await expect(response.text()).rejects.toThrow();
    expect(loads()).toMatchObject([{ state: 'failed' }]);
  });

  test('without a session the network answers, body and all', async () => {
    const { loader, network, loads } = world(
      async () => hello,
      () => Promise.reject(new Error('blocked')),
    );
    network.mockImplementation(async (request) => new Response(`network got ${await request.text()}`));
    expect(await (await respond(loader, post('it'))).text()).toBe('network got it');
    expect(loads()).toMatchObject([{ transport: 'network', state: 'done' }]);
  });

  test('a failed session is not asked for again at once, and then it is', async () => {
    vi.useFakeTimers();
    const connect = vi.fn(async (attempt: number, _refresh: boolean, open: () => Transport) => {
      if (attempt < 2) throw new Error('blocked');
      return open();
    });
    const { loader, session, network } = world(async () => hello, connect);
    await respond(loader, new Request(url));
    expect(connect.mock.calls.map(([, refresh]) => refresh)).toEqual([false, true]);
    expect(session.status()).toMatchObject({ state: 'waiting', failure: 'Error: blocked' });
    await respond(loader, new Request(url));
    expect(connect).toHaveBeenCalledTimes(2);
    expect(network).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(500);
    expect(await (await respond(loader, new Request(url))).text()).toBe('hello');
    expect(session.status()).toMatchObject({ state: 'open', sessions: 1, failure: undefined });
  });

  test('another certificate is asked for after a failure', async () => {
    const { loader, network } = world(
      async () => hello,
      async (_attempt, refresh, open) => {
        if (!refresh) throw new Error('unknown certificate');
        return open();
      },
    );
    expect(await (await respond(loader, new Request(url))).text()).toBe('hello');
    expect(network).not.toHaveBeenCalled();
  });

  test('a session that does not open in 3 s is abandoned', async () => {
    vi.useFakeTimers();
    const { loader } = world(
      async () => hello,
      async (_attempt, refresh, open) => {
        if (refresh) throw new Error('unchanged');
        return { ...open(), ready: new Promise(() => undefined) };
      },
    );
    const response = respond(loader, new Request(url));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await (await response).text()).toBe('from the network');
  });

  test('a gateway that falls silent is left after 8 s', async () => {
    vi.useFakeTimers();
    const { loader, sessions } = world((_request, session) => {
      if (session !== sessions[0]) return Promise.resolve(hello);
      session.silence();
      return new Promise(() => undefined);
    });
    const response = respond(loader, new Request(url));
    await vi.advanceTimersByTimeAsync(7_000);
    expect(sessions).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await (await response).text()).toBe('hello');
    expect(sessions).toHaveLength(2);
  });

  test('a slow answer is no silence', async () => {
    vi.useFakeTimers();
    const { loader, sessions, session } = world(async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      return hello;
    });
    const response = respond(loader, new Request(url));
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await (await response).text()).toBe('hello');
    expect(sessions).toHaveLength(1);
    expect(session.status().roundTripMs).toBeTypeOf('number');
  });
});

describe('cookies', () => {
  test('a visitor without any is served over the session, and the gateway is told so', async () => {
    const seen: PageRequest[] = [];
    const { loader, network } = world(async (request) => {
      seen.push(request);
      return hello;
    });
    expect(await (await respond(loader, new Request(url))).text()).toBe('hello');
    await respond(loader, new Request(url, { credentials: 'omit' }));
    expect(seen.map(({ credentials }) => credentials)).toEqual(['none', 'omitted']);
    expect(network).not.toHaveBeenCalled();
  });

  test.each([
    ['that only the gateway sees', (w: World): void => void w.hasCookies.mockResolvedValue(true)],
    ['that scripts see', (w: World): void => void w.visibleCookies.push('theme')],
  ])('cookies %s are said to be withheld, and no response without them is shown', async (_name, give) => {
    const seen: string[] = [];
    const w = world(async ({ credentials }) => {
      seen.push(credentials);
      return { ...hello, body: Buffer.from(credentials) };
    });
    give(w);
    expect(await (await respond(w.loader, new Request(url))).text()).toBe('withheld');
    expect(await (await respond(w.loader, new Request(`${url}2`))).text()).toBe('withheld');
    expect(seen).toEqual(['none', 'withheld', 'withheld']);
  });

  test('what needs them is loaded by the browser, from then on at once', async () => {
    const { loader, network, loads } = world(async () => {
      throw new CredentialsNeeded();
    });
    for (let round = 0; round < 2; round += 1) {
      expect(await (await respond(loader, new Request(url))).text()).toBe('from the network');
    }
    expect(network).toHaveBeenCalledTimes(2);
    expect(loads()).toMatchObject([
      { transport: 'network', state: 'done', attempts: 1 },
      { transport: 'network', state: 'done', attempts: 0 },
    ]);
  });

  test('a POST that may carry them is left to the browser', async () => {
    const { loader, network, sessions } = world(async () => hello);
    const login = new Request(url, { method: 'POST', body: 'name=a' });
    expect(await (await respond(loader, login)).text()).toBe('from the network');
    expect(network).toHaveBeenCalledWith(login);
    expect(sessions).toHaveLength(0);
  });

  test('are noticed when a response that the browser loaded set them', async () => {
    const seen: string[] = [];
    const { loader, network } = world(async ({ credentials }) => {
      seen.push(credentials);
      return hello;
    });
    network.mockResolvedValue(new Response('', { headers: { 'sheaf-credentials': 'set' } }));
    await respond(loader, new Request(url, { method: 'POST', body: 'name=a' }));
    await respond(loader, new Request(`${url}/next`));
    expect(seen).toEqual(['withheld']);
  });

  test('are assumed when the gateway cannot be asked', async () => {
    const seen: string[] = [];
    const { loader, hasCookies } = world(async ({ credentials }) => {
      seen.push(credentials);
      return hello;
    });
    hasCookies.mockRejectedValue(new TypeError('offline'));
    await respond(loader, new Request(url));
    expect(seen).toEqual(['none', 'withheld']);
  });
});

describe('the cache', () => {
  const etag = (value: string, body: string, control = 'no-cache'): PageResponse => ({
    status: 200,
    headers: [
      ['etag', `"${value}"`],
      ['cache-control', control],
      ['content-type', 'text/plain'],
    ],
    body: Buffer.from(body),
  });
  /** The response's text, once it is stored where it is to be. */
  const text = async ({ loader, stored }: World, request = new Request(url)): Promise<string> => {
    const body = await (await respond(loader, request)).text();
    await stored.idle();
    return body;
  };

  test('answers while a response is fresh, without asking', async () => {
    const handle = vi.fn(async () => etag('a', 'first', 'max-age=60'));
    const w = world(handle);
    expect(await text(w)).toBe('first');
    const again = await respond(w.loader, new Request(url));
    expect([await again.text(), again.headers.get('server-timing')]).toEqual([
      'first',
      'sheaf-cache;desc="page cache"',
    ]);
    expect(handle).toHaveBeenCalledTimes(1);
    expect(w.loads()).toMatchObject([
      { transport: 'webtransport' },
      { transport: 'cache', state: 'done', status: 200 },
    ]);
  });

  test('validates what may have changed, and takes the new one when it has', async () => {
    let current = etag('a', 'first');
    const conditions: unknown[] = [];
    const w = world(async ({ headers }) => {
      const condition = Object.fromEntries(headers)['if-none-match'];
      conditions.push(condition);
      const [, value] = current.headers[0]!;
      return condition === value ? { status: 304, headers: current.headers, body: null } : current;
    });
    expect(await text(w)).toBe('first');
    const validated = await respond(w.loader, new Request(url));
    expect([validated.status, await validated.text()]).toEqual([200, 'first']);
    await w.stored.idle();
    expect(validated.headers.get('server-timing')).toMatch(/^sheaf-webtransport;.*sheaf-cache/);
    current = etag('b', 'second');
    expect(await text(w)).toBe('second');
    expect(await text(w)).toBe('second');
    expect(conditions).toEqual([undefined, '"a"', '"a"', '"b"']);
  });

  test.each([
    ['no-store', [['cache-control', 'no-store']]],
    [
      'Vary: Cookie',
      [
        ['cache-control', 'max-age=60'],
        ['vary', 'accept-encoding, Cookie'],
      ],
    ],
    ['neither freshness nor validator', []],
    [
      'an endless stream',
      [
        ['cache-control', 'max-age=60'],
        ['content-type', 'text/event-stream'],
      ],
    ],
    [
      'more than it keeps',
      [
        ['cache-control', 'max-age=60'],
        ['content-length', '9000000'],
      ],
    ],
  ] as [string, [string, string][]][])('does not keep a response with %s', async (_name, headers) => {
    const handle = vi.fn(async () => ({ ...hello, headers }));
    const w = world(handle);
    await text(w);
    await text(w);
    expect(handle).toHaveBeenCalledTimes(2);
  });

  test.each([
    ['a reload', { cache: 'reload' }, 2],
    ['no-store', { cache: 'no-store' }, 2],
    ['no-cache', { cache: 'no-cache' }, 2],
    ['a range', { headers: { range: 'bytes=0-1' } }, 2],
    ['a condition of its own', { headers: { 'if-none-match': '"x"' } }, 2],
    ['force-cache', { cache: 'force-cache' }, 1],
  ] as [string, RequestInit, number][])('does as the page wants with %s', async (_name, init, loaded) => {
    const handle = vi.fn(async () => etag('a', 'first', 'max-age=60'));
    const w = world(handle);
    await text(w);
    await text(w, new Request(url, init));
    expect(handle).toHaveBeenCalledTimes(loaded);
  });

  test('forgets what a successful change made invalid, and everything when the site says so', async () => {
    const handle = vi.fn(async () => etag('a', 'first', 'max-age=60'));
    const w = world(handle);
    await text(w);
    await respond(w.loader, new Request(url, { method: 'POST', body: 'x' }));
    await text(w);
    expect(handle).toHaveBeenCalledTimes(2);
    w.network.mockResolvedValue(new Response('', { headers: { 'clear-site-data': '"cache"' } }));
    await respond(w.loader, new Request(`${url}/logout`, { method: 'POST', body: 'x' }));
    await text(w);
    expect(handle).toHaveBeenCalledTimes(3);
  });

  test('does not keep what breaks off', async () => {
    let whole = false;
    const w = world(async () => ({
      ...etag('a', '', 'max-age=60'),
      body: (async function* () {
        yield Buffer.from('half');
        if (!whole) throw new Error('upstream died');
      })(),
    }));
    await expect(text(w)).rejects.toThrow();
    whole = true;
    expect(await text(w)).toBe('half');
  });
});

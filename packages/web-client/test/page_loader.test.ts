import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { servePage, type PageRequest, type PageResponse } from '../src/gateway_side/index.js';
import { GatewaySession, type Transport } from '../src/service_worker/gateway_session.js';
import { LoadLog, type Load } from '../src/service_worker/load_log.js';
import { PageLoader } from '../src/service_worker/page_loader.js';
import { RequestOrder } from '../src/service_worker/request_order.js';
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
  return {
    loader: new PageLoader(session, log, visitor, new RequestOrder(), network),
    session,
    sessions,
    network,
    loads: () => [...log.history()],
  };
}

function respond(loader: PageLoader, request: Request, clientId = 'page', resultingClientId = ''): Promise<Response> {
  return loader.respond(request, { clientId, resultingClientId });
}

function post(body: string): Request {
  return new Request(url, { method: 'POST', body });
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
      headers: [['content-encoding', 'gzip'], ['content-length', '25']],
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
    await vi.waitFor(() => expect(loads()[0]?.state).toBe('done'));
  });

  test('that is cancelled tells the gateway', async () => {
    let signal: AbortSignal | undefined;
    const { loader, network } = world((request) => {
      ({ signal } = request);
      return new Promise(() => undefined);
    });
    const abort = new AbortController();
    const response = respond(loader, new Request(url, { signal: abort.signal }));
    await vi.waitFor(() => expect(signal).toBeDefined());
    abort.abort();
    await expect(response).rejects.toThrow();
    await vi.waitFor(() => expect(signal?.aborted).toBe(true));
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
    const { loader, network } = world(async () => hello, async (_attempt, _refresh, open) => {
      const transport = open();
      return {
        ...transport,
        createBidirectionalStream: () =>
          refusals-- > 0 ? Promise.reject(new Error('no credit')) : transport.createBidirectionalStream(),
      };
    });
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
    const { loader, network, loads } = world(async () => hello, () => Promise.reject(new Error('blocked')));
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
    const { loader, network } = world(async () => hello, async (_attempt, refresh, open) => {
      if (!refresh) throw new Error('unknown certificate');
      return open();
    });
    expect(await (await respond(loader, new Request(url))).text()).toBe('hello');
    expect(network).not.toHaveBeenCalled();
  });

  test('a session that does not open in 3 s is given up', async () => {
    vi.useFakeTimers();
    const { loader } = world(async () => hello, async (_attempt, refresh, open) => {
      if (refresh) throw new Error('unchanged');
      return { ...open(), ready: new Promise(() => undefined) };
    });
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

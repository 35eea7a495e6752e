import { PassThrough, Readable } from 'node:stream';
import type { ClientRequestOptions, ClientResponse } from '@sheaf/native';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BackendRoute } from '../../../src/multi_end/primary/backend_route.js';
import type { BackendWatch } from '../../../src/multi_end/primary/backend_watch.js';
import type { BackendHealth } from '../../../src/observability/backend_report.js';
import type { Exchange } from '../../../src/http/exchange.js';
import { Places } from '../../../src/slow_clients/places.js';

const whole = Buffer.from(Array.from({ length: 1_000 }, (_each, index) => index % 251));
const etag = '"1"';

/** A backend that sends so many bytes and then nothing: no head if there are none. */
class FakeBackend {
  state: BackendHealth = 'serving';
  requestsActive: number;
  proxied = 0;
  places = new Places(256);
  readonly asked: ClientRequestOptions[] = [];
  #abandon = new Set<() => void>();
  readonly link = {
    whenOpen: () => Promise.resolve({ request: (options: ClientRequestOptions) => this.#request(options) }),
  };

  constructor(
    readonly name: string,
    order: number,
    private readonly silentAfter = Number.POSITIVE_INFINITY,
    private readonly tag = etag,
  ) {
    this.requestsActive = order;
  }

  whenLost(abandon: () => void): () => void {
    this.#abandon.add(abandon);
    return () => void this.#abandon.delete(abandon);
  }
  get waiting(): number {
    return this.#abandon.size;
  }
  lose(): void {
    this.state = 'lost';
    for (const abandon of this.#abandon) abandon();
  }

  #request(options: ClientRequestOptions): Promise<ClientResponse> {
    this.asked.push(options);
    const cancelled = Object.assign(new Error('abandoned'), { code: 'REQUEST_CANCELLED' });
    return new Promise((resolve, reject) => {
      options.signal?.addEventListener('abort', () => reject(cancelled));
      if (this.silentAfter === 0) return;
      const from = Number(/^bytes=(\d+)-/.exec(String(options.headers?.['range'] ?? 'bytes=0-'))![1]);
      const body = new Readable({ read: () => undefined });
      body.push(whole.subarray(from, this.silentAfter));
      if (this.silentAfter >= whole.length) body.push(null);
      options.signal?.addEventListener('abort', () => body.destroy(cancelled));
      const head =
        from === 0
          ? { etag: this.tag, 'content-length': '1000' }
          : { etag: this.tag, 'content-range': `bytes ${from}-999/1000` };
      resolve(Object.assign(body, { status: from === 0 ? 200 : 206, headers: head, trailers: {} }));
    });
  }
}

class FakeResponse extends PassThrough {
  statusCode = 0;
  headersSent = false;
  setHeader(): void {
    this.headersSent = true;
  }
}

let response: FakeResponse;
beforeEach(() => void (response = new FakeResponse()));

const handle = (backends: FakeBackend[], method = 'GET'): Promise<void> => {
  const request = {
    method,
    url: '/a',
    headers: {},
    authority: 'site',
    scheme: 'https',
    httpVersion: '2',
    remoteAddress: '192.0.2.1',
    early: false,
    body: Readable.from([]),
  };
  const exchange = {
    request,
    response,
    pathname: '/a',
    search: '',
    rest: '/a',
    aborted: false,
    signal: new AbortController().signal,
    timing: () => 'sheaf;dur=1',
    bytesSent: 0,
    bytesReceived: 0,
  } as unknown as Exchange;
  return new BackendRoute(backends as unknown as BackendWatch[], pino({ level: 'silent' })).handle(exchange);
};
const text = async (): Promise<Buffer> => Buffer.concat((await response.toArray()) as Buffer[]);
/** It waits for this backend, which has sent all that it will. */
const waitsFor = (backend: FakeBackend, passedOn = 0): Promise<void> =>
  vi.waitFor(
    () =>
      expect([backend.asked.length, backend.places.count, response.readableLength >= passedOn]).toEqual([1, 1, true]),
    20_000,
  );
const waiting = (backends: FakeBackend[]): number[] =>
  backends.map((backend) => backend.waiting + backend.places.count);

describe('when a backend is lost, the gateway', () => {
  it('asks another one what the lost one has not answered', async () => {
    const backends = [new FakeBackend('backend1', 0, 0), new FakeBackend('backend2', 1)];
    const handled = handle(backends);
    await waitsFor(backends[0]!);
    expect(backends[1]!.asked).toHaveLength(0);
    backends[0]!.lose();
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect(response.statusCode).toBe(200);
    expect(waiting(backends)).toEqual([0, 0]);
  });

  it('does not repeat what may have had an effect', async () => {
    const backends = [new FakeBackend('backend1', 0, 0), new FakeBackend('backend2', 1)];
    const handled = handle(backends, 'POST');
    await waitsFor(backends[0]!);
    backends[0]!.lose();
    await handled;
    expect([response.statusCode, backends[1]!.asked.length]).toEqual([502, 0]);
  });

  it('fetches the rest of a body from others', async () => {
    const backends = [
      new FakeBackend('backend1', 0, 300),
      new FakeBackend('backend2', 1, 700),
      new FakeBackend('backend3', 2, 1_000, '"2"'),
      new FakeBackend('backend4', 3),
    ];
    const handled = handle(backends);
    await waitsFor(backends[0]!, 300);
    backends[0]!.lose();
    await waitsFor(backends[1]!, 700);
    backends[1]!.lose();
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect(backends.map(({ asked }) => asked.map(({ headers }) => headers?.['range']))).toEqual([
      [undefined],
      ['bytes=300-999'],
      ['bytes=700-999'],
      ['bytes=700-999'],
    ]);
    expect(waiting(backends)).toEqual([0, 0, 0, 0]);
  });

  it('has the request in one place at a time, and finds one where there is room', async () => {
    const backends = [
      new FakeBackend('backend1', 0, 300),
      new FakeBackend('backend2', 1),
      new FakeBackend('backend3', 2, 700),
      new FakeBackend('backend4', 3),
    ];
    backends[1]!.places = new Places(0);
    const handled = handle(backends);
    await waitsFor(backends[0]!, 300);
    expect(waiting(backends)).toEqual([2, 0, 0, 0]);
    backends[0]!.lose();
    await waitsFor(backends[2]!, 700);
    expect(waiting(backends)).toEqual([0, 0, 2, 0]);
    backends[2]!.lose();
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect(waiting(backends)).toEqual([0, 0, 0, 0]);
  });

  it('breaks the body off when nobody has the rest of it', async () => {
    const backends = [new FakeBackend('backend1', 0, 300), new FakeBackend('backend2', 1, 1_000, '"2"')];
    const handled = handle(backends);
    await waitsFor(backends[0]!, 300);
    const received = text();
    backends[0]!.lose();
    await expect(received).rejects.toThrow();
    await handled;
    expect(waiting(backends)).toEqual([0, 0]);
  });

  it('does not ask it any more, and says so at once when there is no other', async () => {
    const backends = [new FakeBackend('backend1', 0), new FakeBackend('backend2', 1)];
    for (const backend of backends) backend.lose();
    await handle(backends);
    expect([response.statusCode, backends.flatMap(({ asked }) => asked)]).toEqual([502, []]);
  });
});

describe('when backends have no room, the gateway', () => {
  const full = (name: string): FakeBackend => Object.assign(new FakeBackend(name, 0), { places: new Places(0) });

  it('asks another one, and when there is none, asks the client to come again', async () => {
    const backends = [full('backend1'), new FakeBackend('backend2', 1)];
    await handle(backends);
    expect((await text()).equals(whole)).toBe(true);
    response = new FakeResponse();
    await handle([full('backend1'), full('backend2')]);
    expect(response.statusCode).toBe(503);
  });

  it('does not ask for another attempt of what may have had an effect', async () => {
    const backends = [full('backend1'), new FakeBackend('backend2', 1, 0)];
    const handled = handle(backends, 'POST');
    await waitsFor(backends[1]!);
    backends[1]!.lose();
    await handled;
    expect(response.statusCode).toBe(502);
  });
});

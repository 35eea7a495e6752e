import { PassThrough, Readable } from 'node:stream';
import type { ClientRequestOptions, ClientResponse } from '@sheaf/native';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { EndRoute } from '../../src/ends/end_route.js';
import type { EndHealth, EndWatch } from '../../src/ends/end_watch.js';
import type { Exchange } from '../../src/http/exchange.js';
import { Places } from '../../src/slow_clients/places.js';

const whole = Buffer.from(Array.from({ length: 1_000 }, (_each, index) => index % 251));
const etag = '"1"';

/** An end that sends so many bytes and then nothing: no head if there are none. */
class FakeEnd {
  state: EndHealth = 'serving';
  requestsActive: number;
  proxied = 0;
  carried = new Places(256);
  readonly asked: ClientRequestOptions[] = [];
  #giveUp = new Set<() => void>();
  readonly link = { whenOpen: () => Promise.resolve({ request: (options: ClientRequestOptions) => this.#request(options) }) };

  constructor(
    readonly name: string,
    order: number,
    private readonly silentAfter = Number.POSITIVE_INFINITY,
    private readonly tag = etag,
  ) {
    this.requestsActive = order;
  }

  whenLost(giveUp: () => void): () => void {
    this.#giveUp.add(giveUp);
    return () => void this.#giveUp.delete(giveUp);
  }
  get waiting(): number {
    return this.#giveUp.size;
  }
  lose(): void {
    this.state = 'lost';
    for (const giveUp of this.#giveUp) giveUp();
  }

  #request(options: ClientRequestOptions): Promise<ClientResponse> {
    this.asked.push(options);
    const cancelled = Object.assign(new Error('given up'), { code: 'REQUEST_CANCELLED' });
    return new Promise((resolve, reject) => {
      options.signal?.addEventListener('abort', () => reject(cancelled));
      if (this.silentAfter === 0) return;
      const from = Number(/^bytes=(\d+)-/.exec(String(options.headers?.['range'] ?? 'bytes=0-'))![1]);
      const body = new Readable({ read: () => undefined });
      body.push(whole.subarray(from, this.silentAfter));
      if (this.silentAfter >= whole.length) body.push(null);
      options.signal?.addEventListener('abort', () => body.destroy(cancelled));
      const head = from === 0 ? { etag: this.tag, 'content-length': '1000' } : { etag: this.tag, 'content-range': `bytes ${from}-999/1000` };
      resolve(Object.assign(body, { status: from === 0 ? 200 : 206, headers: head, trailers: {} }) as unknown as ClientResponse);
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

const handle = (ends: FakeEnd[], method = 'GET'): Promise<void> => {
  const request = { method, url: '/a', headers: {}, authority: 'site', scheme: 'https', httpVersion: '2', remoteAddress: '192.0.2.1', early: false, body: Readable.from([]) };
  const exchange = { request, response, pathname: '/a', search: '', rest: '/a', aborted: false, signal: new AbortController().signal, timing: () => 'sheaf;dur=1', bytesSent: 0, bytesReceived: 0 } as unknown as Exchange;
  return new EndRoute(ends as unknown as EndWatch[], pino({ level: 'silent' })).handle(exchange);
};
const text = async (): Promise<Buffer> => Buffer.concat(await response.toArray() as Buffer[]);
/** It waits for this end, which has sent all that it will. */
const waitsFor = (end: FakeEnd, passedOn = 0): Promise<void> => vi.waitFor(() => expect([end.asked.length, end.carried.count, response.readableLength >= passedOn]).toEqual([1, 1, true]), 20_000);
const waiting = (ends: FakeEnd[]): number[] => ends.map((end) => end.waiting + end.carried.count);

describe('when an end is lost, the gateway', () => {
  it('asks another one what the lost one has not answered', async () => {
    const ends = [new FakeEnd('end1', 0, 0), new FakeEnd('end2', 1)];
    const handled = handle(ends);
    await waitsFor(ends[0]!);
    expect(ends[1]!.asked).toHaveLength(0);
    ends[0]!.lose();
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect(response.statusCode).toBe(200);
    expect(waiting(ends)).toEqual([0, 0]);
  });

  it('does not repeat what may have had an effect', async () => {
    const ends = [new FakeEnd('end1', 0, 0), new FakeEnd('end2', 1)];
    const handled = handle(ends, 'POST');
    await waitsFor(ends[0]!);
    ends[0]!.lose();
    await handled;
    expect([response.statusCode, ends[1]!.asked.length]).toEqual([502, 0]);
  });

  it('fetches the rest of a body from others', async () => {
    const ends = [new FakeEnd('end1', 0, 300), new FakeEnd('end2', 1, 700), new FakeEnd('end3', 2, 1_000, '"2"'), new FakeEnd('end4', 3)];
    const handled = handle(ends);
    await waitsFor(ends[0]!, 300);
    ends[0]!.lose();
    await waitsFor(ends[1]!, 700);
    ends[1]!.lose();
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect(ends.map(({ asked }) => asked.map(({ headers }) => headers?.['range']))).toEqual([[undefined], ['bytes=300-999'], ['bytes=700-999'], ['bytes=700-999']]);
    expect(waiting(ends)).toEqual([0, 0, 0, 0]);
  });

  it('has the request in one place at a time, and finds one where there is room', async () => {
    const ends = [new FakeEnd('end1', 0, 300), new FakeEnd('end2', 1), new FakeEnd('end3', 2, 700), new FakeEnd('end4', 3)];
    ends[1]!.carried = new Places(0);
    const handled = handle(ends);
    await waitsFor(ends[0]!, 300);
    expect(waiting(ends)).toEqual([2, 0, 0, 0]);
    ends[0]!.lose();
    await waitsFor(ends[2]!, 700);
    expect(waiting(ends)).toEqual([0, 0, 2, 0]);
    ends[2]!.lose();
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect(waiting(ends)).toEqual([0, 0, 0, 0]);
  });

  it('breaks the body off when nobody has the rest of it', async () => {
    const ends = [new FakeEnd('end1', 0, 300), new FakeEnd('end2', 1, 1_000, '"2"')];
    const handled = handle(ends);
    await waitsFor(ends[0]!, 300);
    const received = text();
    ends[0]!.lose();
    await expect(received).rejects.toThrow();
    await handled;
    expect(waiting(ends)).toEqual([0, 0]);
  });

  it('does not ask it any more, and says so at once when there is no other', async () => {
    const ends = [new FakeEnd('end1', 0), new FakeEnd('end2', 1)];
    for (const end of ends) end.lose();
    await handle(ends);
    expect([response.statusCode, ends.flatMap(({ asked }) => asked)]).toEqual([502, []]);
  });
});

describe('when ends have no room, the gateway', () => {
  const full = (name: string): FakeEnd => Object.assign(new FakeEnd(name, 0), { carried: new Places(0) });

  it('asks another one, and when there is none, asks the client to come again', async () => {
    const ends = [full('end1'), new FakeEnd('end2', 1)];
    await handle(ends);
    expect((await text()).equals(whole)).toBe(true);
    response = new FakeResponse();
    await handle([full('end1'), full('end2')]);
    expect(response.statusCode).toBe(503);
  });

  it('does not ask for another attempt of what may have had an effect', async () => {
    const ends = [full('end1'), new FakeEnd('end2', 1, 0)];
    const handled = handle(ends, 'POST');
    await waitsFor(ends[1]!);
    ends[1]!.lose();
    await handled;
    expect(response.statusCode).toBe(502);
  });
});

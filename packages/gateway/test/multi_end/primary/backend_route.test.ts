import { pino } from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BackendRoute } from '../../../src/multi_end/primary/backend_route.js';
import type { BackendWatch } from '../../../src/multi_end/primary/backend_watch.js';
import { Places } from '../../../src/slow_clients/places.js';
import { FakeBackend, fakeExchange, FakeResponse, whole } from '../../support/fake_backend.js';

let response: FakeResponse;
beforeEach(() => void (response = new FakeResponse()));

const handle = (backends: FakeBackend[], method = 'GET'): Promise<void> => {
  const exchange = fakeExchange(response, { method, httpVersion: '2', bodyless: method === 'GET' });
  return new BackendRoute(
    backends.map((backend) => () => backend as unknown as BackendWatch),
    pino({ level: 'silent' }),
  ).handle(exchange);
};
const text = async (): Promise<Buffer> => Buffer.concat((await response.toArray()) as Buffer[]);
/** It waits for this backend, which has sent all that it will. */
const waitsFor = (backend: FakeBackend, passedOn = 0): Promise<void> =>
  vi.waitFor(
    () =>
      expect([backend.asked.length, backend.places.count, response.readableLength >= passedOn]).toEqual([1, 1, true]),
    30_000,
  );
const waiting = (backends: FakeBackend[]): number[] =>
  backends.map((backend) => backend.waiting + backend.places.count);

describe('when a backend is silent, the gateway', () => {
  it('asks another one instead, and the silent one after all others', async () => {
    const backends = [
      new FakeBackend('backend1', 0, 0),
      new FakeBackend('backend2', 1, 0),
      new FakeBackend('backend3', 2),
    ];
    const [first, second, third] = backends as [FakeBackend, FakeBackend, FakeBackend];
    third.state = 'lost';
    const handled = handle(backends);
    await waitsFor(first);
    first.noteSilence();
    await waitsFor(second);
    // No other one is left that answers.
    second.noteSilence();
    expect(second.places.count).toBe(1);
    third.state = 'serving';
    second.noteSilence();
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect([backends.map(({ asked }) => asked.length), waiting(backends)]).toEqual([
      [1, 1, 1],
      [0, 0, 0],
    ]);
  });

  it('chooses one that answers', async () => {
    const backends = [new FakeBackend('backend1', 0), new FakeBackend('backend2', 1)];
    backends[0]!.noteSilence();
    await Promise.all([handle(backends), text()]);
    expect(backends.map(({ asked }) => asked.length)).toEqual([0, 1]);
  });

  it('chooses one whose heartbeats the registry has, and else one without', async () => {
    const backends = [new FakeBackend('backend1', 0), new FakeBackend('backend2', 1)];
    backends[0]!.unheard = true;
    await Promise.all([handle(backends), text()]);
    expect(backends.map(({ asked }) => asked.length)).toEqual([0, 1]);
    response = new FakeResponse();
    await Promise.all([handle([backends[0]!]), text()]);
    expect(backends.map(({ asked }) => asked.length)).toEqual([1, 1]);
  });

  it('waits for what may have had an effect, and for what has begun', async () => {
    for (const [method, silentAfter] of [
      ['POST', 0],
      ['GET', 300],
    ] as const) {
      response = new FakeResponse();
      const backends = [new FakeBackend('backend1', 0, silentAfter), new FakeBackend('backend2', 1)];
      const handled = handle(backends, method);
      await waitsFor(backends[0]!, silentAfter);
      backends[0]!.noteSilence();
      expect(backends.map(({ places }) => places.count)).toEqual([1, 0]);
      backends[0]!.lose();
      response.resume();
      await handled;
      expect(backends[1]!.asked.length).toBe(method === 'GET' ? 1 : 0);
    }
  });
});

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

it('requests go to equal backends in turn', async () => {
  const backends = [1, 2, 3].map((number) => new FakeBackend(`backend${number}`, 0));
  for (let index = 0; index < 6; index += 1) {
    response = new FakeResponse();
    const handled = handle(backends);
    await text();
    await handled;
  }
  expect(backends.map(({ asked }) => asked.length)).toEqual([2, 2, 2]);
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

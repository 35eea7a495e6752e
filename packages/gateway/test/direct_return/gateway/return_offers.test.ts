import type * as native from '@sheaf/native';
import type { ClientRequestOptions, ClientResponse, ReturnLost } from '@sheaf/native';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReturnLink } from '../../../src/direct_return/gateway/return_link.js';
import { ReturnOffers } from '../../../src/direct_return/gateway/return_offers.js';
import { maxHead } from '../../../src/direct_return/protocol/return_headers.js';
import { BackendRoute } from '../../../src/multi_end/primary/backend_route.js';
import type { BackendWatch } from '../../../src/multi_end/primary/backend_watch.js';
import type { Delivery } from '../../../src/schema/delivery.js';
import { Places } from '../../../src/slow_clients/places.js';
import { begin, etag, fakeAnswer, FakeBackend, fakeExchange, FakeResponse, whole } from '../../support/fake_backend.js';

let granted = 0;
let revoked = 0;
vi.mock('@sheaf/native', async (original) => ({
  ...(await original<typeof native>()),
  revokeOffer: () => (revoked += 1),
  // No backend has sent a first packet.
  offerDoubt: () => 'none',
}));

/** Bytes of the framed head before the body */
const start = 20;
const head = Buffer.from([0, 0, 0xd9]);
const accepted = `status=200; length=1000; first=0; tag=${etag}`;

/** A response of HTTP/3, whose body may come from elsewhere. */
class ReturnedResponse extends FakeResponse {
  handedOff: { head: Buffer; length: number } | undefined;
  refuses = false;
  acknowledged = 0;
  ended = false;
  readonly written: Buffer[] = [];

  handOff(bytes: Buffer, length: number): number {
    if (this.refuses) throw Object.assign(new Error('the connection has several paths'), { code: 'WRITE_REFUSED' });
    this.handedOff = { head: bytes, length };
    return start;
  }
  writeInstead(offset: number, chunk: Buffer | undefined, fin: boolean): boolean {
    expect(offset).toBe(this.acknowledged + Buffer.concat(this.written).length);
    this.written.push(chunk ?? Buffer.alloc(0));
    if (fin) this.complete();
    return true;
  }
  /** The client has everything. */
  complete(): void {
    this.ended = true;
    setImmediate(() => this.emit('close'));
  }
  lose(reason: ReturnLost['reason'], received: number): void {
    this.acknowledged = start + received;
    this.emit('returnLost', { reason, code: 0, acknowledged: this.acknowledged } satisfies ReturnLost);
  }
}

let response: ReturnedResponse;
let exchange: ReturnType<typeof fakeExchange>;
beforeEach(() => {
  [granted, revoked] = [0, 0];
  response = new ReturnedResponse();
  exchange = fakeExchange(response);
});

/** Answers requests with a grant as a backend does that sends the response itself. */
const accepts =
  (header = accepted, body = head, ends = true) =>
  ({ headers }: ClientRequestOptions): ClientResponse | undefined =>
    headers?.['sheaf-grant'] === undefined ? undefined : fakeAnswer(200, { 'sheaf-accepted': header }, body, ends);

function backend(name: string, answer = accepts(), order = 0): FakeBackend {
  return Object.assign(new FakeBackend(name, order), { answer });
}

const link = {
  open: true,
  grant: () => {
    granted += 1;
    return { header: 'grant' };
  },
};

let offers: ReturnOffers;
let warnings: unknown[];
beforeEach(() => (warnings = []));
/** Handles the exchange. `offers` stay the same for a whole test if they are passed. */
function handle(backends: FakeBackend[], these?: ReturnOffers): Promise<void> {
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) });
  offers = these ?? new ReturnOffers({ linkOf: () => link as unknown as ReturnLink, log });
  return begin(
    new BackendRoute(
      backends.map((backend) => () => backend as unknown as BackendWatch),
      log,
      offers,
    ),
    exchange,
  );
}

const handedOff = (): Promise<void> => vi.waitFor(() => expect(response.handedOff).toBeDefined(), 30_000);
const text = async (): Promise<Buffer> => Buffer.concat((await response.toArray()) as Buffer[]);
const ranges = (backends: FakeBackend[]): unknown[] =>
  backends.map(({ asked }) => asked.map(({ headers }) => headers?.['range']));
const held = (backends: FakeBackend[]): number[] =>
  backends.map(({ waiting, places, returning }) => waiting + places.count + returning.count);

it('a backend sends the body, and nothing is taken back', async () => {
  const backends = [backend('backend1')];
  const handled = handle(backends);
  await handedOff();
  expect(response.handedOff).toEqual({ head, length: 1_000 });
  // It has given back the place of its request, and has one of responses.
  expect([held(backends), backends[0]!.returning.count]).toEqual([[1], 1]);
  response.end();
  response.complete();
  await handled;
  expect([granted, revoked, exchange.bytesSent, held(backends)]).toEqual([1, 0, 1_000, [0]]);
  expect(exchange.delivered).toEqual({ delivery: 'return', backend: 'backend1', returnedBytes: 1_000 });
});

it('a backend sends the body also where it is not known at first that the request has none', async () => {
  Object.assign(exchange.request.body, { bodyless: false });
  const handled = handle([backend('backend1')]);
  await handedOff();
  response.end();
  response.complete();
  await handled;
  expect(exchange.delivered).toEqual({ delivery: 'return', backend: 'backend1', returnedBytes: 1_000 });
});

it.each([
  [
    'takes none',
    () => {
      throw Object.assign(new Error('the peer is going away'), { code: 'GOING_AWAY' });
    },
  ],
  [
    'is lost',
    (_options: unknown, _which: unknown, answered: (answer: Error) => void) => {
      setImmediate(answered, Object.assign(new Error('the connection is closed'), { code: 'CONNECTION_CLOSED' }));
      return true;
    },
  ],
] as const)('another backend has the request when the first %s', async (_what, ask) => {
  const backends = [backend('backend1'), backend('backend2', accepts(), 1)];
  Object.assign(backends[0]!.link.client!, { ask });
  const handled = handle(backends);
  await handedOff();
  response.end();
  response.complete();
  await handled;
  expect([exchange.delivered?.backend, granted, revoked, held(backends)]).toEqual(['backend2', 2, 1, [0, 0]]);
});

it('counts what a client has that leaves', async () => {
  const handled = handle([backend('backend1')]);
  await handedOff();
  response.acknowledged = start + 300;
  exchange.leave();
  await handled;
  expect([exchange.bytesSent, exchange.delivered?.returnedBytes]).toEqual([300, 300]);
});

describe('the grant is taken back when the client leaves', () => {
  const one = async (leave: (backends: FakeBackend[]) => Promise<unknown>, answer = accepts()): Promise<void> => {
    const backends = [backend('backend1', answer)];
    await leave(backends);
    expect([granted, revoked, response.handedOff, held(backends)]).toEqual([1, 1, undefined, [0]]);
  };

  it('before the backend is connected', () =>
    one(async (backends) => {
      backends[0]!.link.client = undefined;
      backends[0]!.link.whenOpen = () =>
        new Promise((_resolve, reject) => {
          exchange.signal.addEventListener('abort', () => reject(new Error('left')));
        });
      const handled = handle(backends);
      exchange.leave();
      await handled;
    }));

  it('before the backend answers', () =>
    one(async (backends) => {
      const silent = Object.assign(new FakeBackend('backend1', 0, 0));
      backends.splice(0, 1, silent);
      const handled = handle(backends);
      await vi.waitFor(() => expect(silent.asked).toHaveLength(1), 30_000);
      exchange.leave();
      await handled;
    }));

  it('while the head arrives', () =>
    one(
      async (backends) => {
        const handled = handle(backends);
        await vi.waitFor(() => expect(backends[0]!.asked).toHaveLength(1), 30_000);
        await new Promise(setImmediate);
        exchange.leave();
        await handled;
      },
      accepts(accepted, head, false),
    ));

  it('when the head is there', () =>
    one(async (backends) => {
      backends[0]!.answer = (options) => {
        const answer = accepts()(options);
        answer?.once('end', () => exchange.leave());
        return answer;
      };
      await handle(backends);
    }));
});

describe('the same backend answers without a grant', () => {
  const wrong: [string, (options: ClientRequestOptions) => ClientResponse | undefined][] = [
    ['accepts with a header that nobody knows', accepts('status=200; size=1000')],
    ['accepts a body of unknown length', accepts(`status=200; tag=${etag}`)],
    ['accepts an empty body', accepts(`status=200; length=0; first=0; tag=${etag}`)],
    ['sends no head', accepts(accepted, Buffer.alloc(0))],
    ['sends a head that is too large', accepts(accepted, Buffer.alloc(maxHead + 1))],
    ['sends a head that refers to a table', accepts(accepted, Buffer.from([1, 0, 0xd9]))],
  ];
  it.each(wrong)('when it %s', async (_what, answer) => {
    const backends = [backend('backend1', answer), backend('backend2', accepts(), 1)];
    const handled = handle(backends);
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect(backends.map(({ asked }) => asked.map(({ headers }) => headers?.['sheaf-grant']))).toEqual([
      ['grant', undefined],
      [],
    ]);
    expect([granted, revoked, held(backends), response.statusCode]).toEqual([1, 1, [0, 0], 200]);
    expect(exchange.delivered).toEqual({ delivery: 'proxy', backend: 'backend1', fallback: 'failed' });
  });

  it('when the connection permits no hand-over any more', async () => {
    response.refuses = true;
    const backends = [backend('backend1')];
    const handled = handle(backends);
    expect((await text()).equals(whole)).toBe(true);
    await handled;
    expect([granted, revoked, backends[0]!.asked.length, held(backends)]).toEqual([1, 1, 2, [0]]);
  });
});

describe('the rest of a body', () => {
  it.each(['unreachable', 'failed', 'gone', 'paths'] as const)(
    'comes from the same backend when it is %s',
    async (reason) => {
      const backends = [backend('backend1'), backend('backend2', accepts(), 1)];
      const handled = handle(backends);
      await handedOff();
      response.lose(reason, 400);
      await handled;
      expect(Buffer.concat(response.written).equals(whole.subarray(400))).toBe(true);
      expect(ranges(backends)).toEqual([[undefined, 'bytes=400-999'], []]);
      expect(exchange.delivered).toMatchObject({ delivery: 'return', fallback: reason, returnedBytes: 400 });
      expect([exchange.bytesSent, held(backends)]).toEqual([1_000, [0, 0]]);
    },
  );

  it('comes from another backend when the first is silent', async () => {
    const backends = [backend('backend1'), backend('backend2', accepts(), 1)];
    const handled = handle(backends);
    await handedOff();
    response.lose('silent', 400);
    await handled;
    expect(Buffer.concat(response.written).equals(whole.subarray(400))).toBe(true);
    expect(ranges(backends)).toEqual([[undefined], ['bytes=400-999']]);
  });

  it('comes from the silent backend when there is no other', async () => {
    const backends = [backend('backend1')];
    const handled = handle(backends);
    await handedOff();
    response.lose('silent', 400);
    await handled;
    expect(Buffer.concat(response.written).equals(whole.subarray(400))).toBe(true);
  });

  it('of a part comes from the right place', async () => {
    const backends = [backend('backend1', accepts(`status=206; length=500; first=200; tag=${etag}`))];
    backends[0]!.answer = (options) =>
      options.headers?.['range'] === 'bytes=300-699'
        ? fakeAnswer(206, { etag, 'content-range': 'bytes 300-699/1000' }, whole.subarray(300, 700))
        : accepts(`status=206; length=500; first=200; tag=${etag}`)(options);
    const handled = handle(backends);
    await handedOff();
    response.lose('gone', 100);
    await handled;
    expect(Buffer.concat(response.written).equals(whole.subarray(300, 700))).toBe(true);
  });

  it('comes from a third backend when the second is lost, too', async () => {
    const second = new FakeBackend('backend2', 1, 700);
    const backends = [backend('backend1'), second, new FakeBackend('backend3', 2)];
    const handled = handle(backends);
    await handedOff();
    response.lose('silent', 400);
    await vi.waitFor(() => expect(Buffer.concat(response.written)).toHaveLength(300), 30_000);
    second.lose();
    await handled;
    expect(Buffer.concat(response.written).equals(whole.subarray(400))).toBe(true);
    expect(ranges(backends)).toEqual([[undefined], ['bytes=400-999'], ['bytes=700-999']]);
  });

  it('is missing where nobody has it', async () => {
    const backends = [backend('backend1'), new FakeBackend('backend2', 1, 1_000, '"2"')];
    backends[0]!.answer = (options) => accepts()(options) ?? fakeAnswer(404, {}, Buffer.alloc(0));
    response.on('error', () => undefined);
    const handled = handle(backends);
    await handedOff();
    response.lose('silent', 400);
    await handled;
    expect([response.destroyed, held(backends)]).toEqual([true, [0, 0]]);
  });

  it('is not asked for when the client has all', async () => {
    const backends = [backend('backend1')];
    const handled = handle(backends);
    await handedOff();
    response.lose('gone', 1_000);
    await handled;
    expect([response.ended, ranges(backends)]).toEqual([true, [[undefined]]]);
  });
});

describe('what backends decline', () => {
  const declines =
    (reason: string, status = 200) =>
    (): ClientResponse =>
      fakeAnswer(status, { 'sheaf-declined': reason }, Buffer.from('small'));

  async function ask(backends: FakeBackend[], these?: ReturnOffers, request = {}): Promise<string | undefined> {
    response = new ReturnedResponse();
    exchange = Object.assign(fakeExchange(response), request);
    const handled = handle(backends, these);
    await text();
    await handled;
    return exchange.delivered?.fallback;
  }

  it('is proxied, and the grant is taken back at once', async () => {
    expect(await ask([backend('backend1', declines('busy'))])).toBe('busy');
    expect([granted, revoked]).toEqual([1, 1]);
  });

  it('is not offered again for a while where it is small', async () => {
    const backends = [backend('backend1', declines('small'))];
    await ask(backends);
    expect([await ask(backends, offers), granted]).toEqual(['small', 1]);
    await ask(backends, offers, { search: '?other' });
    expect(granted).toBe(2);
  });

  it.each([
    ['another reason', declines('unknown'), {}],
    ['a part', declines('small', 206), {}],
    ['a URL that is too long to remember', declines('small'), { search: `?${'x'.repeat(512)}` }],
  ])('is offered again after %s', async (_what, answer, request) => {
    const backends = [backend('backend1', answer)];
    await ask(backends, undefined, request);
    await ask(backends, offers, request);
    expect([granted, revoked]).toEqual([2, 2]);
  });
});

it('a client that may ask the backends itself gets no offer', () => {
  offers = new ReturnOffers({ linkOf: () => undefined, log: pino({ level: 'silent' }) });
  const ask = (ways: Delivery[], multiEnd: boolean): unknown => {
    const one = fakeExchange(response, { httpVersion: '2', connection: { multiEnd } });
    return offers.of(ways).offer(one, undefined as never, undefined as never);
  };
  expect(ask(['path', 'return', 'proxy'], true)).toBe('multi-end');
  // Another reason follows only where this one does not hold.
  expect(ask(['path', 'return', 'proxy'], false)).toBe('http-version');
  expect(ask(['return', 'proxy'], true)).toBe('http-version');
});

it('a backend that sends as many responses as it may gets no offer', async () => {
  const backends = [Object.assign(backend('backend1'), { returning: new Places(0) })];
  const handled = handle(backends);
  expect((await text()).equals(whole)).toBe(true);
  await handled;
  expect([exchange.delivered?.fallback, granted]).toEqual(['busy', 0]);
});

it('a network that nothing of a backend reaches gets no offer from it', async () => {
  const backends = [backend('backend1')];
  const handled = handle(backends);
  await handedOff();
  response.lose('unreachable', 0);
  await handled;
  response = new ReturnedResponse();
  exchange = fakeExchange(response);
  const again = handle(backends, offers);
  await text();
  await again;
  expect([exchange.delivered?.fallback, granted]).toEqual(['unreachable', 1]);
  const told = {
    backend: 'backend1',
    network: '192.0.2.1',
    minutes: 10,
    hint: expect.stringContaining('rp_filter') as string,
  };
  expect(warnings).toContainEqual(expect.objectContaining(told));
});

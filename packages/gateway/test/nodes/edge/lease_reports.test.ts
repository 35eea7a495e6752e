import { Readable } from 'node:stream';
import type { ClientRequestOptions, ClientResponse, ConnectionStatus, BackendStatus } from '@sheaf/native';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaseReports } from '../../../src/nodes/edge/lease_reports.js';

const lease = { granted: 4_096, returned: 96, left: 1_000 };
/** What pages are told of it. */
const told = { granted: 4_000, used: 3_000 };

const answer = (status: number, body: string): ClientResponse =>
  Object.assign(Readable.from([Buffer.from(body)]), { status, headers: {}, trailers: {} });

/** A client whose backends answer as said, by id; a backend without a response is silent. */
function clientOf(backends: Record<number, (() => ClientResponse) | undefined>) {
  const asked: number[] = [];
  const states: Record<number, BackendStatus['state']> = {};
  return {
    asked,
    states,
    status: () =>
      ({
        backends: Object.keys(backends).map((backend) => ({
          backend: Number(backend),
          path: 2 * Number(backend) + 1,
          state: states[Number(backend)] ?? 'open',
        })),
      }) as unknown as ConnectionStatus,
    request({ backend = -1, signal }: ClientRequestOptions): Promise<ClientResponse> {
      asked.push(backend);
      const answering = backends[backend];
      if (answering) return Promise.resolve(answering());
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('abandoned'))));
    },
  };
}

const turn = (milliseconds = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(milliseconds);

beforeEach(() => {
  // `AbortSignal.timeout` knows the real time alone.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), milliseconds);
    return controller.signal;
  });
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('the leases of backends', () => {
  it('are asked for once a second at most, for all pages together, and not when none asks', async () => {
    const client = clientOf({
      0: () => answer(200, JSON.stringify(lease)),
      2: () => answer(200, JSON.stringify(lease)),
    });
    const reports = new LeaseReports(client);
    await turn(5_000);
    expect(client.asked).toEqual([]);
    expect(reports.latest().size).toBe(0);
    for (let page = 0; page < 5; page++) reports.latest();
    await turn();
    expect(client.asked).toEqual([0, 2]);
    expect(Object.fromEntries(reports.latest())).toEqual({ 1: told, 5: told });
    await turn(999);
    reports.latest();
    expect(client.asked).toHaveLength(2);
    await turn(1);
    reports.latest();
    expect(client.asked).toHaveLength(4);
    await turn(60_000);
    expect(client.asked).toHaveLength(4);
    // What was said before that minute is not told.
    expect(reports.latest().size).toBe(0);
  });

  it('of backends that are silent or away are not known, those of others are', async () => {
    const client = clientOf({
      0: undefined,
      1: () => answer(200, JSON.stringify(lease)),
      2: () => answer(200, JSON.stringify(lease)),
    });
    client.states[2] = 'withdrawn';
    const reports = new LeaseReports(client);
    reports.latest();
    await turn(1_500);
    reports.latest();
    expect(client.asked).toEqual([0, 1]);
    await turn(500);
    expect(Object.fromEntries(reports.latest())).toEqual({ 3: told });
  });

  it.each([
    ['a backend that does not know the question', () => answer(404, '404 Not Found')],
    ['text', () => answer(200, 'no')],
    ['numbers that are missing', () => answer(200, '{"granted":1,"returned":0}')],
    ['numbers below 0', () => answer(200, '{"granted":1,"returned":0,"left":-1}')],
    ['more left than there was', () => answer(200, '{"granted":1,"returned":0,"left":2}')],
    ['too much', () => answer(200, `${JSON.stringify(lease)}${' '.repeat(2_000)}`)],
    [
      'a broken answer',
      () =>
        Object.assign(
          new Readable({
            read() {
              this.destroy(new Error('lost'));
            },
          }),
          { status: 200, headers: {}, trailers: {} },
        ),
    ],
  ])('are not known after %s', async (_what, ofBackend) => {
    const client = clientOf({ 0: ofBackend, 1: () => answer(200, JSON.stringify(lease)) });
    const reports = new LeaseReports(client);
    reports.latest();
    await turn(1);
    expect(Object.fromEntries(reports.latest())).toEqual({ 3: told });
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectFirst } from '../../../src/nodes/uplink/connect_first.js';

/** What becomes of a path, after so many milliseconds. */
interface Fate {
  after: number;
  error?: string;
}

/** Tries paths with these fates; tells when each began, which were closed, and how it ended, in milliseconds. */
async function race(fates: Record<string, Fate>) {
  const begun: Record<string, number> = {};
  const closed: string[] = [];
  const start = Date.now();
  const connect = async (path: string) => {
    begun[path] = Date.now() - start;
    const { after, error } = fates[path]!;
    await new Promise((resolve) => setTimeout(resolve, after));
    if (error !== undefined) throw Object.assign(new Error(`${path}: ${error}`), { code: error });
    return { close: () => Promise.resolve(void closed.push(path)) };
  };
  const result = connectFirst(Object.keys(fates), connect).then(
    ({ path }) => `${path} at ${Date.now() - start}`,
    (error: unknown) => (error as Error).message,
  );
  await vi.advanceTimersByTimeAsync(60_000);
  return { result: await result, begun, closed };
}

describe('the first path that leads to a connection', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is the first of all when it works', async () => {
    expect(await race({ a: { after: 900 }, b: { after: 1 } })).toEqual({
      result: 'a at 900',
      begun: { a: 0 },
      closed: [],
    });
  });

  it('is the next one at once where an address is not there', async () => {
    expect(await race({ a: { after: 0, error: 'EADDRNOTAVAIL' }, b: { after: 10 } })).toEqual({
      result: 'b at 10',
      begun: { a: 0, b: 0 },
      closed: [],
    });
  });

  it('is sought beside one that is silent, which is closed when it comes too late', async () => {
    const { result, begun, closed } = await race({
      a: { after: 1_500 },
      b: { after: 5_000, error: 'CONNECT_TIMEOUT' },
      c: { after: 300 },
    });
    expect({ result, begun, closed }).toEqual({ result: 'a at 1500', begun: { a: 0, b: 1_000 }, closed: [] });
    expect(await race({ a: { after: 1_500 }, b: { after: 300 } })).toEqual({
      result: 'b at 1300',
      begun: { a: 0, b: 1_000 },
      closed: ['a'],
    });
  });

  it('may be the slow one, when all others fail', async () => {
    expect((await race({ a: { after: 4_000 }, b: { after: 10, error: 'EADDRNOTAVAIL' } })).result).toBe('a at 4000');
  });

  it('is none when all fail: what the network said is told before an address that is not there', async () => {
    expect(
      (await race({ a: { after: 5_000, error: 'CONNECT_TIMEOUT' }, b: { after: 0, error: 'EADDRNOTAVAIL' } })).result,
    ).toBe('a: CONNECT_TIMEOUT');
    expect(
      (await race({ a: { after: 0, error: 'EADDRNOTAVAIL' }, b: { after: 0, error: 'EADDRNOTAVAIL' } })).result,
    ).toBe('b: EADDRNOTAVAIL');
  });
});

import { Readable } from 'node:stream';
import type { ReturnedBody } from '@sheaf/native';
import { expect, it, vi } from 'vitest';
import { AppendedBody } from '../../../src/direct_return/backend/appended_body.js';
import type { Exchange } from '../../../src/http/exchange.js';
import { endSlow, paceOf } from '../../../src/slow_clients/pace.js';

/** A body with room for so many bytes. */
function bodyWith(room: number): {
  body: ReturnedBody;
  appended: Buffer[];
  fail: ReturnType<typeof vi.fn>;
  drain: () => void;
  finish: () => void;
} {
  const appended: Buffer[] = [];
  let held = 0;
  let drain = (): void => undefined;
  let finish = (): void => undefined;
  let isOver = false;
  const fail = vi.fn();
  const body: ReturnedBody = {
    over: new Promise((resolve) => {
      finish = () => {
        isOver = true;
        resolve(held);
        drain();
      };
    }),
    get isOver() {
      return isOver;
    },
    append: (bytes) => {
      appended.push(Buffer.from(bytes));
      held += bytes.length;
      return held < room;
    },
    room: () => new Promise((resolve) => (drain = resolve)),
    fail,
  };
  return { body, appended, fail, drain: () => drain(), finish: () => finish() };
}

const chunks = (...sizes: number[]): Readable => Readable.from(sizes.map((size) => Buffer.alloc(size, size)));

it('appends all bytes and counts them', async () => {
  const { body, appended, fail } = bodyWith(1_000);
  const exchange = { bytesSent: 0 };
  await new AppendedBody(body, 60).appendAll(chunks(10, 20, 30), exchange);
  expect(appended.map(({ length }) => length)).toEqual([10, 20, 30]);
  expect(exchange.bytesSent).toBe(60);
  expect(fail).not.toHaveBeenCalled();
});

it('waits for room, and meanwhile for the client', async () => {
  const { body, appended, drain } = bodyWith(20);
  const source = new AppendedBody(body, 60);
  const done = source.appendAll(chunks(10, 20, 30), { bytesSent: 0 });
  await vi.waitFor(() => expect(source.waits).toBe(true), 30_000);
  expect(appended).toHaveLength(2);
  drain();
  await vi.waitFor(() => expect(appended).toHaveLength(3), 30_000);
  drain();
  await done;
  expect(source.waits).toBe(false);
});

it.each([
  ['has fewer bytes', 61, 'the body ended 1 bytes before its end'],
  ['has more bytes', 59, 'the body is longer than 59 bytes'],
])('fails the body when the source %s', async (_name, length, message) => {
  const { body, fail } = bodyWith(1_000);
  await expect(new AppendedBody(body, length).appendAll(chunks(10, 20, 30), { bytesSent: 0 })).rejects.toThrow(message);
  expect(fail).toHaveBeenCalledOnce();
});

it('fails the body when the source fails', async () => {
  const { body, fail } = bodyWith(1_000);
  const source = new Readable({ read: () => undefined });
  const done = new AppendedBody(body, 60).appendAll(source, { bytesSent: 0 });
  source.push(Buffer.alloc(10));
  source.destroy(new Error('the upstream is gone'));
  await expect(done).rejects.toThrow('the upstream is gone');
  expect(fail).toHaveBeenCalledOnce();
});

it('leaves a source that brings nothing when the body is over', async () => {
  const { body, fail, finish } = bodyWith(1_000);
  const source = new Readable({ read: () => undefined });
  const done = new AppendedBody(body, 60).appendAll(source, { bytesSent: 0 });
  finish();
  await done;
  expect(source.destroyed).toBe(true);
  expect(fail).not.toHaveBeenCalled();
});

it('a client that takes nothing counts as slow, and is ended with its body', async () => {
  const { body, fail } = bodyWith(1);
  const taken = new AppendedBody(body, 60);
  const exchange = { bytesSent: 0, bytesReceived: 0, response: { writableLength: 0 }, taken } as unknown as Exchange;
  void taken.appendAll(chunks(10, 20, 30), exchange);
  await vi.waitFor(() => expect(taken.waits).toBe(true), 30_000);
  const pace = paceOf(exchange);
  pace.observe(exchange, 1_000);
  pace.observe(exchange, 9_000);
  expect(pace.stalledFor(9_000)).toBe(8_000);
  endSlow(exchange, 'slow');
  expect(fail).toHaveBeenCalledOnce();
});

import { ReadableStream, WritableStream } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WebTransportSession } from '@sheaf/native';
import { expect, it, vi } from 'vitest';
import { MemoryBudget } from '../../../src/media/model/memory_budget.js';
import { GroupCache } from '../../../src/media/model/group_cache.js';
import { Track } from '../../../src/media/model/track.js';
import { Allowance, ByteReader } from '../../../src/media/moq/byte_reader.js';
import { MoqStreams } from '../../../src/media/moq/moq_streams.js';
import { SentBytes } from '../../../src/media/moq/sent_bytes.js';
import { Subscription } from '../../../src/media/moq/subscription.js';
import { ManualClock } from '../../support/manual_clock.js';

const never = new Promise<never>(() => undefined);

it('a request beyond those that wait for the peer fails alone, and the session stays', async () => {
  const close = vi.fn();
  const session = { close, createBidirectionalStream: () => never, createUnidirectionalStream: () => never };
  const streams = new MoqStreams(session as unknown as WebTransportSession, new Allowance(1_000));
  for (let index = 0; index < 256; index += 1) void streams.request(2, Buffer.of());
  await expect(streams.request(2, Buffer.of())).rejects.toMatchObject({ kind: 'too_large' });
  expect(await Promise.race([streams.unidirectional(), nextTurn('waits')])).toBe('waits');
  expect(close).not.toHaveBeenCalled();
});

it('a group that a newer one followed is abandoned when it is no longer kept, whatever latency the viewer asks for', async () => {
  const clock = new ManualClock();
  const history = 10_000;
  const memory = new MemoryBudget(Infinity).shareOf('192.0.2.1');
  const track = new Track('video', new GroupCache({ history: 1e9, bytes: 1e6 }, clock, memory));
  track.accept({ priority: 1, ordered: false, cache: 0, timescale: 1_000 });
  const aborted: unknown[] = [];
  const stalled = () => {
    const start = (controller: unknown): void => {
      const { signal } = controller as { signal: AbortSignal };
      signal.addEventListener('abort', () => aborted.push(signal.reason));
    };
    return Object.assign(new WritableStream({ start, write: () => never }), { setPriority: () => undefined });
  };
  let opened = 0;
  const createUnidirectionalStream = () => Promise.resolve(((opened += 1), stalled()));
  const session = { createUnidirectionalStream } as unknown as WebTransportSession;
  const allowance = new Allowance(1_000);
  const options = { priority: 1, ordered: false, maxLatency: 2 ** 40, start: undefined, end: undefined };
  const subscription = new Subscription({
    ...{ streams: new MoqStreams(session, allowance), track, history, clock },
    request: { id: 0, broadcast: 'a', track: 'video', ...options },
  });
  const reader = new ByteReader(new ReadableStream<Uint8Array>(), allowance);
  void subscription.run({ reader, sent: new SentBytes(new WritableStream()) });
  await expect.poll(() => track.isRead).toBe(true);
  track.begin(0);
  track.begin(1);
  await expect.poll(() => [opened, clock.timers]).toEqual([2, 1]);
  clock.advance(history - 1);
  expect(clock.timers).toBe(1);
  clock.advance(1);
  await expect.poll(() => aborted).toEqual([expect.objectContaining({ kind: 'expired' })]);
});

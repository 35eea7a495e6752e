import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { PortSession } from '../../../src/media/links/port_session.js';
import { Broadcast, type BroadcastSource } from '../../../src/media/model/broadcast.js';
import { Broadcasts } from '../../../src/media/model/broadcasts.js';
import { systemClock } from '../../../src/media/model/clock.js';
import { MemoryBudget } from '../../../src/media/model/memory_budget.js';
import type { Track } from '../../../src/media/model/track.js';
import { MoqSession } from '../../../src/media/moq/moq_session.js';

function openPair(): [PortSession, PortSession] {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  return [new PortSession(port1, true), new PortSession(port2, false)];
}

const mebibyte = 1_024 * 1_024;

it('bytes arrive in order, in both directions of a stream, until each side ends it', async () => {
  const [left, right] = openPair();
  const asked = await left.createBidirectionalStream();
  const question = asked.writable.getWriter();
  await question.write(Buffer.from('to the '));
  await question.write(Buffer.from('right'));
  await question.close();
  const { value: answering } = await right.incomingBidirectionalStreams.getReader().read();
  expect(await textOf(answering!.readable)).toBe('to the right');
  const answer = answering!.writable.getWriter();
  await answer.write(Buffer.from('to the left'));
  await answer.close();
  expect(await textOf(asked.readable)).toBe('to the left');
});

it('whoever does not read stops the writer after a mebibyte, and goes on when something is read or thrown away', async () => {
  const [left, right] = openPair();
  const incoming = right.incomingUnidirectionalStreams.getReader();
  const first = (await left.createUnidirectionalStream()).getWriter();
  await first.write(Buffer.alloc(mebibyte));
  const second = (await left.createUnidirectionalStream()).getWriter();
  let written = false;
  const blocked = second.write(Buffer.from('x')).then(() => (written = true));
  const { value: readable } = await incoming.read();
  expect(written).toBe(false);
  const reader = readable!.getReader();
  expect((await reader.read()).value).toHaveLength(mebibyte);
  await blocked;
  await first.write(Buffer.alloc(mebibyte));
  const stopped = first.write(Buffer.from('more')).then(() => first.closed);
  await reader.cancel();
  await expect(stopped).rejects.toMatchObject({ kind: 'cancelled' });
  await second.write(Buffer.from('y'));
});

it('a stream that is abandoned fails for its reader, also while a write waits', async () => {
  const [left, right] = openPair();
  const writer = (await left.createUnidirectionalStream()).getWriter();
  writer.closed.catch(() => undefined);
  await writer.write(Buffer.alloc(mebibyte));
  writer.write(Buffer.from('never')).catch(() => undefined);
  await writer.abort(new Error('enough'));
  const { value: readable } = await right.incomingUnidirectionalStreams.getReader().read();
  const read = async (): Promise<void> => {
    for await (const piece of readable!) expect(piece).toHaveLength(mebibyte);
  };
  await expect(read()).rejects.toMatchObject({ kind: 'cancelled' });
});

it('requests and groups wait for places of their own kind', async () => {
  const [left] = openPair();
  for (let count = 0; count < 8_192; count++) await left.createBidirectionalStream();
  let opened = false;
  const waiting = left.createBidirectionalStream().then(() => (opened = true));
  await left.createUnidirectionalStream();
  await nextTurn();
  expect(opened).toBe(false);
  left.close();
  await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' });
});

it('the end of the port ends the session and all streams at both ends', async () => {
  const [left, right] = openPair();
  const { readable, writable } = await left.createBidirectionalStream();
  const incoming = right.incomingBidirectionalStreams.getReader();
  const { value: accepted } = await incoming.read();
  right.close();
  await Promise.all([left.closed, right.closed]);
  expect(await incoming.read()).toMatchObject({ done: true });
  for (const stream of [readable, accepted!.readable])
    await expect(stream.getReader().read()).rejects.toMatchObject({ kind: 'cancelled' });
  await expect(writable.getWriter().closed).rejects.toMatchObject({ kind: 'cancelled' });
  await expect(left.createUnidirectionalStream()).rejects.toMatchObject({ kind: 'cancelled' });
});

it('the end that closes a session for a violation knows why, and the other one that it is over', async () => {
  const [left, right] = openPair();
  const why = { closeCode: 15, reason: 'a length of no message' };
  left.close(why);
  expect(await Promise.all([left.closed, right.closed])).toEqual([why, { closeCode: 0, reason: '' }]);
});

/** Two workers with the broadcasts of a route */
function openWorkers(): [Broadcasts, Broadcasts] {
  const all = openPair().map((session) => {
    const broadcasts = new Broadcasts(new MemoryBudget(1e7));
    const limits = { history: 10_000, bytes: 1e6 };
    const log = { warn: () => undefined };
    const common = { broadcasts, origin: 1n, limits, clock: systemClock, log };
    void new MoqSession({ session, peer: { kind: 'worker' }, ...common }).run();
    return broadcasts;
  });
  return all as [Broadcasts, Broadcasts];
}

function add(broadcasts: Broadcasts, startedAt: number, source: BroadcastSource): Broadcast {
  const publication = { token: String(startedAt), startedAt, network: '192.0.2.0/24' };
  const memory = broadcasts.memory.shareOf(publication.network);
  const limits = { history: 10_000, bytes: 1e6 };
  const broadcast = new Broadcast('clock', { source, limits, memory, publication, clock: systemClock, hops: [7n] });
  broadcasts.add(broadcast);
  return broadcast;
}

it('a copy has the token, the hops and the groups that are kept, and opens a track once for all of its readers', async () => {
  const [here, there] = openWorkers();
  const opened: Track[] = [];
  const original = add(here, 1, { open: (track) => void opened.push(track) });
  await expect.poll(() => there.get('clock')?.publication).toEqual(original.publication);
  const copy = there.get('clock')!;
  expect([copy.isCopy, copy.hops]).toEqual([true, [7n]]);
  expect(opened).toEqual([]);
  const written = original.track('video');
  written.accept({ priority: 1, ordered: false, cache: 0, timescale: 1_000 });
  for (const sequence of [0, 1, 2]) {
    const group = written.begin(sequence);
    written.write(group, sequence, Buffer.from(`frame of ${sequence}`));
    if (sequence < 2) written.finish(group);
  }
  const readers = [copy.track('video').read(0), copy.track('video').read(0)];
  for (const reader of readers)
    for (const sequence of [0, 1, 2])
      expect(Buffer.from((await (await reader.next())!.frame(0))!.payload).toString()).toBe(`frame of ${sequence}`);
  expect(opened).toEqual([written]);
  here.remove(original);
  await copy.whenEnded();
});

it('of two publishers whose news cross, both workers keep the one that began later', async () => {
  const [here, there] = openWorkers();
  const source = { open: () => undefined };
  const later = add(here, 2, source);
  const earlier = add(there, 1, source);
  await earlier.whenEnded();
  await expect.poll(() => there.get('clock')?.publication).toEqual(later.publication);
  expect([here.get('clock'), later.ended]).toEqual([later, false]);
});

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

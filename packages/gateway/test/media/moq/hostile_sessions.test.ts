import type { WebTransportSession } from '@sheaf/native';
import { describe, expect, it, vi } from 'vitest';
import { Broadcast } from '../../../src/media/model/broadcast.js';
import { Broadcasts } from '../../../src/media/model/broadcasts.js';
import { systemClock } from '../../../src/media/model/clock.js';
import { MemoryBudget } from '../../../src/media/model/memory_budget.js';
import { Allowance } from '../../../src/media/moq/byte_reader.js';
import { varint } from '../../../src/media/moq/fields.js';
import { DATA_STREAM, encodeAnnounceOk, encodeAnnouncement, encodeGroupHead } from '../../../src/media/moq/messages.js';
import { MoqStreams } from '../../../src/media/moq/moq_streams.js';
import { PublishedBroadcasts } from '../../../src/media/moq/published_broadcasts.js';
import { PublishedTracks } from '../../../src/media/moq/published_tracks.js';
import { startFullGateway } from '../../support/gateway.js';
import {
  addGroup,
  announcement,
  connectMoq,
  openMoqSession,
  publish,
  request,
  subscribe,
} from '../../support/moq_client.js';

const violation = { closeCode: 15 };

async function start() {
  const { port, log } = await startFullGateway('routes: [{ path: /live, media: {} }]');
  return { port, log, session: await openMoqSession(port) };
}

async function sendData(session: WebTransportSession, bytes: Uint8Array): Promise<void> {
  const writer = (await session.createUnidirectionalStream()).getWriter();
  writer.closed.catch(() => undefined);
  await writer.write(bytes);
}

describe('a client that violates the protocol loses its session:', () => {
  it.each([
    ['a message that is too long', '0180010000'],
    ['a message with bytes behind its fields', '010400000000'],
    ['a name that is no UTF-8', '010302ff0000'],
    ['a subscription whose flag is none', '020a00016101760102000000'],
  ])('%s', async (_name, hex) => {
    const { session } = await start();
    await request(session, Buffer.from(hex, 'hex'));
    expect(await session.closed).toMatchObject(violation);
  });

  it('a group for a subscription that does not exist', async () => {
    const { session } = await start();
    await sendData(session, Buffer.concat([varint(0), encodeGroupHead({ subscription: 3, sequence: 0 })]));
    expect(await session.closed).toMatchObject(violation);
  });

  it('a SETUP with a parameter twice', async () => {
    const { session } = await start();
    await sendData(session, Buffer.from('01050201000100', 'hex'));
    expect(await session.closed).toMatchObject(violation);
  });

  it('announcements that are malformed', async () => {
    const { session } = await start();
    const { value } = await session.incomingBidirectionalStreams.getReader().read();
    const writer = value!.writable.getWriter();
    await writer.write(Buffer.concat([encodeAnnounceOk({ origin: 7n, active: 1 }), Buffer.from('0103', 'hex')]));
    expect(await session.closed).toMatchObject(violation);
  });
});

describe('a client that asks for too much', () => {
  it('loses the stream of an unknown type, and nothing else', async () => {
    const { session } = await start();
    await expect((await request(session, varint(99))).read()).rejects.toMatchObject({ streamErrorCode: 17 });
    await expect((await request(session, varint(4))).read()).rejects.toMatchObject({ streamErrorCode: 17 });
    await expect((await request(session, subscribe('nothing'))).read()).rejects.toMatchObject({ streamErrorCode: 13 });
  });

  it('announces 32 broadcasts, and no more', async () => {
    const { session, log } = await start();
    const incoming = session.incomingBidirectionalStreams.getReader();
    const { value } = await incoming.read();
    const writer = value!.writable.getWriter();
    writer.closed.catch(() => undefined);
    const active = Array.from({ length: 40 }, (_, index) =>
      encodeAnnouncement({ active: true, suffix: `broadcast ${index}`, hops: [] }),
    );
    await writer.write(Buffer.concat([encodeAnnounceOk({ origin: 7n, active: 40 }), ...active]));
    await expect.poll(() => log.some((line) => line['msg'] === 'broadcast refused')).toBe(true);
    const refused = await request(session, subscribe('broadcast 32'));
    await expect(refused.read()).rejects.toMatchObject({ streamErrorCode: 13 });
    const taken = await request(session, subscribe('broadcast 31'));
    const asked = await incoming.read();
    expect(asked.done).toBe(false);
    await taken.cancel();
  });

  it('keeps its broadcasts when a route has no room for one more', async () => {
    const broadcasts = new Broadcasts(new MemoryBudget(1e6));
    const options = {
      source: { open: () => undefined },
      memory: broadcasts.memory.shareOf(''),
      publication: { token: '', startedAt: 0, network: '' },
      clock: systemClock,
    };
    const add = (name: string): void =>
      broadcasts.add(new Broadcast(name, { ...options, limits: { history: 1_000, bytes: 1_000 } }));
    for (let index = 0; index < 255; index += 1) add(`other ${index}`);
    const announced = ['first', 'second'].map((suffix) => encodeAnnouncement({ active: true, suffix, hops: [] }));
    const bytes = Buffer.concat([encodeAnnounceOk({ origin: 7n, active: 2 }), ...announced]);
    const readable = new ReadableStream({ start: (controller) => controller.enqueue(bytes) });
    const stream = { readable, writable: new WritableStream(), setPriority: () => undefined };
    const session = { createBidirectionalStream: () => Promise.resolve(stream) } as unknown as WebTransportSession;
    const streams = new MoqStreams(session, new Allowance(10_000));
    const warn = vi.fn();
    const published = new PublishedBroadcasts({
      ...{ streams, tracks: new PublishedTracks(streams, systemClock, 1_000), broadcasts, clock: systemClock },
      ...{ limits: { history: 1_000, bytes: 1_000 }, origin: 1n, log: { warn } },
      peer: { kind: 'client', mayPublish: true, network: '192.0.2.1' },
    });
    void published.run();
    await expect.poll(() => warn.mock.calls).toHaveLength(1);
    expect([broadcasts.get('first')?.ended, broadcasts.get('second')]).toEqual([false, undefined]);
  });
});

describe('a viewer that does not read', () => {
  it('loses whole groups, and gets the newest one complete when it reads again', async () => {
    const { port, session } = await start();
    const publisher = await connectMoq(port);
    const { video } = publish(publisher, 'clock');
    await announcement((await connectMoq(port)).announced(), 'clock');
    const reader = await request(session, subscribe('clock'));
    const witness = (await connectMoq(port)).consume('clock' as never).subscribe('video');
    const incoming = session.incomingUnidirectionalStreams.getReader();
    // Other viewers get all of them meanwhile.
    for (let index = 0; index < 60; index += 1) {
      addGroup(video, [Buffer.alloc(400_000, index)]);
      await witness.recvGroup();
    }
    const newest = Buffer.alloc(400_000, 59);
    let complete = 0;
    let reset = 0;
    for (;;) {
      const { value } = await incoming.read();
      const bytes = await readGroup(value!);
      // The gateway's SETUP has a stream of its own.
      if (bytes?.[0] === DATA_STREAM.setup) continue;
      if (bytes === undefined) reset += 1;
      else complete += 1;
      if (bytes !== undefined) expect(bytes.length).toBeGreaterThan(newest.length);
      if (bytes?.subarray(-newest.length).equals(newest)) break;
    }
    expect(complete + reset).toBeLessThanOrEqual(60);
    expect(reset).toBeGreaterThan(0);
    await reader.cancel();
  });
});

/** Everything a stream brings; undefined when it is reset. */
async function readGroup(stream: ReadableStream<Uint8Array>): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of stream) pieces.push(piece);
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces);
}

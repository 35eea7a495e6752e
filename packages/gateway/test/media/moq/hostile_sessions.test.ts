import type { WebTransportSession } from '@sheaf/native';
import { describe, expect, it } from 'vitest';
import { varint } from '../../../src/media/moq/fields.js';
import { encodeAnnounceOk, encodeAnnouncement, encodeGroupHead } from '../../../src/media/moq/messages.js';
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
  const { port } = await startFullGateway('routes: [{ path: /live, media: {} }]');
  return { port, session: await openMoqSession(port) };
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

  it('announces nothing any more when it announces more than 32 broadcasts', async () => {
    const { session } = await start();
    const { value } = await session.incomingBidirectionalStreams.getReader().read();
    const writer = value!.writable.getWriter();
    writer.closed.catch(() => undefined);
    const active = Array.from({ length: 40 }, (_, index) =>
      encodeAnnouncement({ active: true, suffix: `broadcast ${index}`, hops: [] }),
    );
    await writer.write(Buffer.concat([encodeAnnounceOk({ origin: 7n, active: 40 }), ...active]));
    for await (const piece of value!.readable) void piece;
    const refused = await request(session, subscribe('broadcast 3'));
    await expect(refused.read()).rejects.toMatchObject({ streamErrorCode: 13 });
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
      if (bytes === undefined) reset += 1;
      else complete += 1;
      if (bytes?.subarray(-newest.length).equals(newest)) break;
    }
    expect(complete + reset).toBeLessThan(62);
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

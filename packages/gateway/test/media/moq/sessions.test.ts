import { randomBytes } from 'node:crypto';
import * as Moq from '@moq/net';
import { describe, expect, it, vi } from 'vitest';
import { encodeSubscribeResponse } from '../../../src/media/moq/messages.js';
import { startFullGateway } from '../../support/gateway.js';
import { connect } from '../../support/http3_client.js';
import {
  addGroup,
  announcement,
  connectMoq,
  framesOf,
  openMoqSession,
  publish,
  request,
  subscribe,
} from '../../support/moq_client.js';
import { startPair } from '../../support/nodes.js';

const routes = 'routes: [{ path: /live, media: {} }]';
const name = Moq.Path.from('studio/clock');

async function startStudio(configuration = routes) {
  const { port, log } = await startFullGateway(configuration);
  const publisher = await connectMoq(port);
  const viewer = await connectMoq(port);
  return { port, log, publisher, viewer };
}

describe('a broadcast of a client of @moq/net', () => {
  it('reaches another one, frame for frame, with timestamps', async () => {
    const { publisher, viewer } = await startStudio();
    const { video } = publish(publisher, name);
    await announcement(viewer.announced(), name);
    const track = viewer.consume(name).subscribe('video');
    const sent = [randomBytes(100_000), Buffer.alloc(0), randomBytes(7), randomBytes(300_000)];
    const sequence = addGroup(video, sent);
    const group = await track.recvGroup();
    expect(group?.sequence).toBe(sequence);
    expect((await framesOf(group!)).map((frame, index) => frame.equals(sent[index]!))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect((await track.info()).timescale).toBe(1_000_000);
    const next = track.recvGroup();
    const open = video.appendGroup();
    open.writeFrame({ payload: Buffer.from('key'), timestamp: Moq.Time.Timestamp.fromMillis(Moq.Time.Milli(5_000)) });
    const frame = await (await next)!.readFrame();
    expect([Buffer.from(frame!.payload).toString(), frame?.timestamp.as(Moq.Time.Timescale(1_000))]).toEqual([
      'key',
      5_000,
    ]);
  });

  it('is not taken from clients of an edge on this machine by default', async () => {
    const { port } = await startPair({ gateway: [routes] });
    const session = await openMoqSession(port);
    // A publisher is asked for its announcements at once; the gateway answers in the order of requests.
    const asked = vi.fn();
    void session.incomingBidirectionalStreams.getReader().read().then(asked);
    await expect((await request(session, subscribe('nothing'))).read()).rejects.toMatchObject({ streamErrorCode: 13 });
    expect(asked).not.toHaveBeenCalled();
  });

  it('reaches viewers through an edge', async () => {
    const { port } = await startPair({ gateway: [`routes: [{ path: /live, media: { publish: 127.0.0.1 } }]`] });
    const [publisher, viewer] = [await connectMoq(port), await connectMoq(port)];
    const { video } = publish(publisher, name);
    await announcement(viewer.announced(), name);
    const track = viewer.consume(name).subscribe('video');
    const sent = [randomBytes(50_000)];
    addGroup(video, sent);
    expect((await framesOf((await track.recvGroup())!)).map((frame) => frame.equals(sent[0]!))).toEqual([true]);
  });

  it('begins with the newest group for those who come late, and the groups before can be fetched', async () => {
    const { port, publisher, viewer } = await startStudio();
    const { video } = publish(publisher, name);
    await announcement(viewer.announced(), name);
    const first = viewer.consume(name).subscribe('video');
    for (let sequence = 0; sequence < 3; sequence += 1) {
      addGroup(video, [Buffer.of(sequence)]);
      expect((await first.recvGroup())?.sequence).toBe(sequence);
    }
    const late = await connectMoq(port);
    await announcement(late.announced(), name);
    const group = await late.consume(name).subscribe('video').recvGroup();
    expect([group?.sequence, await framesOf(group!)]).toEqual([2, [Buffer.of(2)]]);
    expect(await framesOf(await late.consume(name).fetchGroup('video', 1))).toEqual([Buffer.of(1)]);
  });

  it('has subscriptions to some groups, which end with the last of them', async () => {
    const { port, publisher, viewer } = await startStudio();
    const { video } = publish(publisher, name);
    await announcement(viewer.announced(), name);
    const track = viewer.consume(name).subscribe('video');
    for (let sequence = 0; sequence < 4; sequence += 1) {
      addGroup(video, [Buffer.of(sequence)]);
      await track.recvGroup();
    }
    const responses = await request(await openMoqSession(port), subscribe(name, { start: 1, end: 2 }));
    const bytes: Uint8Array[] = [];
    for (let next = await responses.read(); !next.done; next = await responses.read()) bytes.push(next.value);
    const [start, end] = [
      encodeSubscribeResponse({ kind: 'start', group: 1 }),
      encodeSubscribeResponse({ kind: 'end', group: 3 }),
    ];
    expect(Buffer.concat(bytes)).toEqual(Buffer.concat([start, end]));
  });

  it('is no longer asked for a track a while after its last viewer', async () => {
    const { publisher, viewer } = await startStudio();
    const { video } = publish(publisher, name);
    await announcement(viewer.announced(), name);
    const track = viewer.consume(name).subscribe('video');
    addGroup(video, [Buffer.of(1)]);
    await track.recvGroup();
    expect(video.used.peek()).toBe(true);
    track.close();
    await video.unused();
  });

  it('ends for viewers when it ends, and when its publisher is lost', async () => {
    const { publisher, viewer } = await startStudio();
    const announcements = viewer.announced();
    const { broadcast } = publish(publisher, name);
    await announcement(announcements, name);
    broadcast.close();
    await announcement(announcements, name, false);
    publish(publisher, Moq.Path.from('another'));
    await announcement(announcements, 'another');
    publisher.close();
    await announcement(announcements, 'another', false);
  });

  it('that is unknown, or has no such track, is refused with a code', async () => {
    const { publisher, viewer } = await startStudio();
    await expect(viewer.consume(name).subscribe('video').info()).rejects.toMatchObject({ code: 13 });
    const { broadcast } = publish(publisher, name);
    await announcement(viewer.announced(), name);
    const info = viewer.consume(name).subscribe('nothing').info();
    (await broadcast.requested())!.reject(new Error('no such track'));
    await expect(info).rejects.toMatchObject({ code: 13 });
  });

  it('that a client may not publish is not announced', async () => {
    const { publisher, viewer, port } = await startStudio(
      'routes: [{ path: /live, media: { publish: 192.0.2.0/24 } }]',
    );
    publish(publisher, name);
    const other = await connectMoq(port);
    // What follows later on the same session shows that nothing was announced before.
    await expect(other.consume(name).subscribe('video').info()).rejects.toMatchObject({ code: 13 });
    await expect(viewer.consume(name).subscribe('video').info()).rejects.toMatchObject({ code: 13 });
  });
});

describe('a session', () => {
  it.each([
    ['nothing', {}],
    ['another version', { 'wt-available-protocols': '"moq-lite-04"' }],
    ['a malformed list', { 'wt-available-protocols': '"moq-lite-05' }],
  ])('of a client that offers %s is refused', async (_name, headers) => {
    const { port, log } = await startFullGateway(routes);
    const client = await connect(port, { webtransport: true });
    await expect(client.openWebTransport('/live', headers)).rejects.toMatchObject({ errorCode: 406 });
    await vi.waitFor(
      () => expect(log.find((line) => line['msg'] === 'webtransport session refused')).toBeTruthy(),
      30_000,
    );
  });
});

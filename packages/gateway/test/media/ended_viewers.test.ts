import { request as httpsRequest } from 'node:https';
import * as Moq from '@moq/net';
import { expect, it, vi } from 'vitest';
import { Wakeup } from '@sheaf/web-client/wakeup';
import { Broadcast } from '../../src/media/model/broadcast.js';
import type { Track } from '../../src/media/model/track.js';
import { varint } from '../../src/media/moq/fields.js';
import { encodeFetch, REQUEST_STREAM } from '../../src/media/moq/messages.js';
import { startFullGateway } from '../support/gateway.js';
import { announcement, connectMoq, openMoqSession, publish, request, subscribe } from '../support/moq_client.js';

const rendition = { codec: 'vp09.00.10.08', container: { kind: 'legacy' } };

/** A gateway with a broadcast `clock`, whose track `video` has one frame of a group that goes on. */
async function startClock() {
  const { port } = await startFullGateway('routes: [{ path: /live, media: {} }]');
  const { broadcast, video } = publish(await connectMoq(port), 'clock');
  broadcast.createTrack('catalog.json').writeJson({ video: { renditions: { video: rendition } } });
  await announcement((await connectMoq(port)).announced(), 'clock');
  const timestamp = Moq.Time.Timestamp.fromMicros(Moq.Time.Micro(0));
  const group = video.appendGroup();
  group.writeFrame({ payload: Buffer.concat([Moq.Varint.encode(0), Buffer.from('key')]), timestamp });
  return { port };
}

/** Sends a request over HTTP/1.1. Returns a function that abandons it. */
function ask(port: number, path: string): () => void {
  const sent = httpsRequest({ port, path, rejectUnauthorized: false });
  sent.on('error', () => undefined).end();
  return () => sent.destroy();
}

it('tracks stay open while a file or a group of them is on its way', async () => {
  const opened = vi.spyOn(Broadcast.prototype, 'track');
  const isVideoRead = (): boolean | undefined =>
    opened.mock.results.map(({ value }) => value as Track).find(({ name }) => name === 'video')?.isRead;
  const { port } = await startClock();
  const leave = ask(port, '/live/clock/video/newest');
  await expect.poll(isVideoRead).toBe(true);
  leave();
  await expect.poll(isVideoRead).toBe(false);
  const session = await openMoqSession(port);
  const fetch = encodeFetch({ broadcast: 'clock', track: 'video', priority: 0, group: 0 });
  const reader = await request(session, Buffer.concat([varint(REQUEST_STREAM.fetch), fetch]));
  await reader.read();
  expect(isVideoRead()).toBe(true);
  await reader.cancel();
  await expect.poll(isVideoRead).toBe(false);
});

it('viewers that have ended leave nothing that waits', async () => {
  const waits = vi.spyOn(Wakeup.prototype, 'wait');
  const waiting = (): number =>
    [...new Set(waits.mock.contexts as Wakeup[])].reduce((sum, wakeup) => sum + wakeup.waiting, 0);
  const { port } = await startClock();
  const stays = await openMoqSession(port);
  const data = stays.incomingUnidirectionalStreams.getReader();
  await request(stays, subscribe('clock'));
  for (let streams = 0; streams < 2; streams += 1) await data.read();
  await expect.poll(waiting).toBeGreaterThan(2);
  const before = waiting();
  const fetch = encodeFetch({ broadcast: 'clock', track: 'video', priority: 0, group: 0 });
  const session = await openMoqSession(port);
  const readers = [
    await request(session, Buffer.concat([varint(REQUEST_STREAM.fetch), fetch])),
    await request(session, subscribe('clock')),
  ];
  const abandon = [ask(port, '/live/clock/video/newest'), ask(port, '/live/clock/video/media.m3u8?_HLS_msn=0')];
  await readers[0]!.read();
  await expect.poll(waiting).toBe(before + 5);
  for (const each of abandon) each();
  await Promise.all(readers.map((reader) => reader.cancel()));
  session.close();
  await expect.poll(waiting).toBe(before);
});

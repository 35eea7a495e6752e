import * as Moq from '@moq/net';
import { expect, it } from 'vitest';
import { get } from '../../support/client.js';
import { addGroup, announcement, connectMoq, framesOf, publish, publishCataloged } from '../../support/moq_client.js';
import { startPair } from '../../support/nodes.js';

const name = Moq.Path.from('studio');

/** A gateway whose broadcasts a channel without a group carries, and an edge that serves them. */
async function startMedia() {
  const pair = await startPair({
    gateway: [
      'channels: { live: {} }',
      'routes: [{ path: /live, media: { channel: live } }, { path: /channel, channel: live }]',
    ],
    edge: ['admin: 127.0.0.1:0', 'media: [{ path: /live, channel: /channel }]'],
  });
  const publisher = await connectMoq(pair.gateway.address.port);
  const { video } = publishCataloged(publisher, name);
  return { ...pair, video };
}

it('serves viewers and players itself, and counts what the channel brings', async () => {
  const { port, edge, gateway, video } = await startMedia();
  const viewer = await connectMoq(port);
  await announcement(viewer.announced(), name);
  const track = viewer.consume(name).subscribe('video');
  addGroup(video, [Buffer.from('key'), Buffer.from('delta')]);
  expect((await framesOf((await track.recvGroup())!)).map(String)).toEqual(['key', 'delta']);
  expect((await get(port, '/live/studio/video/newest')).body.toString()).toBe('keydelta');
  expect((await get(port, '/live/studio/index.m3u8')).body.toString()).toContain('video/media.m3u8');
  const [media] = edge.status().media!;
  expect(media).toMatchObject({
    ...{ route: '/live', channel: '/channel', state: 'want', joined: 1, broadcasts: 1, viewers: 1 },
    ...{ fromGroup: 0, recovered: 0, unicastShare: 1, lost: 0, expired: 0, unreadable: 0 },
  });
  expect(edge.status().webTransportSessions).toBe(1);
  // Only the publisher's session and the edge's connection lead to the gateway.
  expect([gateway.status().webTransportSessions, gateway.status().connections.length]).toEqual([1, 2]);
  expect(gateway.status().channels).toMatchObject([{ name: 'live', receivers: 1 }]);
});

it('takes no broadcast of a client, and forwards what is not below its path', async () => {
  const { port } = await startMedia();
  const stranger = await connectMoq(port);
  publish(stranger, 'forged');
  const viewer = await connectMoq(port);
  await announcement(viewer.announced(), name);
  expect(JSON.parse((await get(port, '/live')).body.toString())).toEqual({ broadcasts: ['studio'] });
  expect((await get(port, '/elsewhere')).status).toBe(404);
});

import { once } from 'node:events';
import {
  readFrames,
  watchChannel,
  type ChannelState,
  type Http3Client,
  type ReceivedGroup,
  type WatchedChannel,
} from '@sheaf/native';
import * as Moq from '@moq/net';
import { expect, it, vi } from 'vitest';
import type { GatewayStatus } from '../../src/observability/status.js';
import { adminHeader } from '../../src/observability/admin_server.js';
import { connect } from '../support/http3_client.js';
import { addGroup, announcement, connectMoq, framesOf, publish } from '../support/moq_client.js';
import { startMulticastRelay } from '../support/multicast_relay.js';
import { crash, startWorkers, type RunningWorkers } from '../support/workers.js';

const workers = 3;
const yaml = (channel: string): string => `listen: 127.0.0.1:0
admin: 127.0.0.1:0
workers: ${workers}
channels: { live: ${channel} }
routes: [{ path: /live, channel: live }, { path: /, files: ./site }]
`;
const group = '{ group: "232.98.7.9:5511", source: 127.0.0.1 }';

/** Connects a client to each worker: as many as it takes until each has one. */
async function connectToEach({ port, workers: ask }: RunningWorkers): Promise<Http3Client[]> {
  const counts = async (): Promise<number[]> => (await ask()).map(({ quicConnections = 0 }) => quicConnections);
  const clients = new Map<number, Http3Client>();
  let before = await counts();
  while (clients.size < workers) {
    const client = await connect(port, { datagrams: true });
    const after = await counts();
    clients.set(
      after.findIndex((count, worker) => count > before[worker]!),
      client,
    );
    before = after;
  }
  return Array.from({ length: workers }, (_, worker) => clients.get(worker)!);
}

const watch = (client: Http3Client): Promise<WatchedChannel> => watchChannel(client, { path: '/live' });

const reaches = (channel: WatchedChannel, state: ChannelState): Promise<void> =>
  new Promise((resolve) => {
    if (channel.state === state) return resolve();
    channel.on('state', (now) => {
      if (now === state) resolve();
    });
  });

/** Returns the frames of the next group that is a part of a publication, without its head. */
async function nextPart(channel: WatchedChannel): Promise<Buffer> {
  const [first] = (await once(channel, 'group')) as [ReceivedGroup];
  const frames: Buffer[] = [];
  for await (const frame of readFrames(first)) frames.push(frame);
  return Buffer.concat(frames.slice(1));
}

async function publishBytes({ node }: RunningWorkers, channel: string, body: Buffer): Promise<Response> {
  const { port } = node.adminAddress!;
  const url = `http://127.0.0.1:${port}/channels/${channel}?name=a`;
  return fetch(url, { method: 'POST', headers: { [adminHeader]: '1' }, body: new Uint8Array(body) });
}

const channelsOf = async (site: RunningWorkers) => ((await site.status()) as GatewayStatus).channels;

it.each([
  ['by copies', '{}', 'want'],
  ['by the group', group, 'receiving'],
] as const)('what operators publish reaches receivers at each worker, %s', async (_way, options, state) => {
  const site = await startWorkers(yaml(options));
  const channels = await Promise.all((await connectToEach(site)).map(watch));
  await Promise.all(channels.map((channel) => reaches(channel, state)));
  const body = Buffer.alloc(700_000, 'all of it');
  const arriving = channels.map(nextPart);
  const response = await publishBytes(site, 'live', body);
  expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ bytes: body.length })]);
  for (const received of await Promise.all(arriving)) expect(received.equals(body)).toBe(true);
  expect(await channelsOf(site)).toMatchObject([{ name: 'live', receivers: workers }]);
  expect((await publishBytes(site, 'other', body)).status).toBe(404);
  channels[2]!.leave();
  await expect.poll(async () => (await channelsOf(site))?.[0]?.receivers).toBe(workers - 1);
});

it('what a group loses, and what it does not bring while it is silent, comes by copies at each worker', async () => {
  const relay = await startMulticastRelay({ address: '232.98.7.9', port: 5512 });
  const channel = `{ group: "232.98.7.9:5512", source: 127.0.0.1, relay: "127.0.0.1:${relay.port}" }`;
  const site = await startWorkers(yaml(channel));
  const channels = await Promise.all((await connectToEach(site)).map(watch));
  await Promise.all(channels.map((channel) => reaches(channel, 'receiving')));
  const body = Buffer.alloc(700_000, 'all of it');
  const publishAll = async (): Promise<void> => {
    const arriving = channels.map(nextPart);
    await publishBytes(site, 'live', body);
    for (const received of await Promise.all(arriving)) expect(received.equals(body)).toBe(true);
  };
  relay.passes = (count) => count % 10 !== 0;
  await publishAll();
  relay.passes = () => false;
  await Promise.all(channels.map((channel) => reaches(channel, 'unicast')));
  await publishAll();
  relay.passes = () => true;
  await Promise.all(channels.map((channel) => reaches(channel, 'receiving')));
});

it('a channel ends with the worker that has it, for all receivers, who join its successor', async () => {
  const site = await startWorkers(yaml('{}'));
  const [, ...clients] = await connectToEach(site);
  const channels = await Promise.all(clients.map(watch));
  await Promise.all(channels.map((channel) => reaches(channel, 'want')));
  const withdrawn = channels.map((channel) => once(channel, 'close'));
  const crashed = crash(site.node, 0);
  await vi.waitFor(() => expect(site.node.pool.serving).toHaveLength(workers - 1), { interval: 1 });
  const refused = await publishBytes(site, 'live', Buffer.from('too early'));
  expect([refused.status, refused.headers.get('retry-after'), await refused.text()]).toEqual([
    503,
    '1',
    expect.stringContaining('the worker with the channels starts again'),
  ]);
  await crashed;
  expect(await Promise.all(withdrawn)).toEqual(clients.map(() => ['withdrawn']));
  const again = await Promise.all(clients.map(watch));
  await Promise.all(again.map((channel) => reaches(channel, 'want')));
  const arriving = again.map(nextPart);
  await publishBytes(site, 'live', Buffer.from('new'));
  expect((await Promise.all(arriving)).map(String)).toEqual(clients.map(() => 'new'));
});

it('a worker that crashes takes its receivers along, and no others', async () => {
  const site = await startWorkers(yaml('{}'));
  const [first, , third] = await Promise.all((await connectToEach(site)).map(watch));
  await expect.poll(async () => (await channelsOf(site))?.[0]?.receivers).toBe(workers);
  await crash(site.node, 1);
  await expect.poll(async () => (await channelsOf(site))?.[0]?.receivers).toBe(workers - 1);
  const arriving = [first!, third!].map(nextPart);
  await publishBytes(site, 'live', Buffer.from('goes on'));
  expect((await Promise.all(arriving)).map(String)).toEqual(['goes on', 'goes on']);
});

it('a channel carries the broadcasts of all workers to an edge', async () => {
  const site = await startWorkers(`nodes:
  center:
    role: gateway
    listen: 127.0.0.1:0
    workers: ${workers}
    channels: { live: {} }
    routes: [{ path: /live, media: { channel: live } }, { path: /channel, channel: live }]
  classroom:
    role: edge
    listen: 127.0.0.1:0
    gateway: center
    media: [{ path: /live, channel: /channel }]
`);
  const edge = site.nodeOf('classroom');
  const names = ['first', 'second', 'third', 'fourth'].map((text) => Moq.Path.from(text));
  const viewer = await connectMoq((edge as unknown as { address: { port: number } }).address.port);
  for (const name of names) {
    const { broadcast, video } = publish(await connectMoq(site.port), name);
    broadcast.createTrack('catalog.json').writeJson({ video: { renditions: { video: { codec: 'vp09.00.10.08' } } } });
    await announcement(viewer.announced(), name);
    const track = viewer.consume(name).subscribe('video');
    addGroup(video, [Buffer.from(`key of ${name}`)]);
    expect((await framesOf((await track.recvGroup())!)).map(String)).toEqual([`key of ${name}`]);
  }
});

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createHttp3Server,
  frameHeader,
  openChannelSource,
  readFrames,
  watchChannel,
  type ChannelSourceOptions,
  type ChannelState,
  type ReceivedGroup,
  type WatchedChannel,
  type WatchOptions,
} from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { connect } from '../support/http3_client.js';
import { startMulticastRelay } from '../support/multicast_relay.js';

const group = { address: '232.98.7.3', port: 5503 };

async function open(options: ChannelSourceOptions = {}) {
  const source = openChannelSource(options);
  let ended = 0;
  const served: boolean[] = [];
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({
    address: '127.0.0.1',
    port: 0,
    alpn: ['h3'],
    certificate,
    webtransport: true,
  });
  server.on('request', (request, response) => {
    response.once('close', () => (ended += 1));
    if (request.protocol === 'sheaf-channel' && request.url === '/live') {
      served.push(source.serve(request, response));
      if (!served.at(-1)) response.destroy();
    } else response.writeHead(404).end();
  });
  const { port } = await server.listen();
  const client = await connect(port, { datagrams: true });
  const other = await connect(port, { datagrams: true });
  onTestFinished(async () => {
    await Promise.all([client.close(), other.close()]);
    source.close();
    await server.close();
  });
  return {
    source,
    client,
    served,
    ended: () => ended,
    watch: (more: Partial<WatchOptions> = {}) => watchChannel(client, { path: '/live', ...more }),
    watchElsewhere: () => watchChannel(other, { path: '/live' }),
  };
}

async function readAll(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}

const firstGroup = async (channel: WatchedChannel): Promise<ReceivedGroup> => {
  const [first] = (await once(channel, 'group')) as [ReceivedGroup];
  return first;
};

const reaches = (channel: WatchedChannel, state: ChannelState): Promise<void> =>
  new Promise((resolve) => {
    if (channel.state === state) return resolve();
    channel.on('state', (now) => {
      if (now === state) resolve();
    });
  });

it('brings a group of objects by copies where the channel has no group of receivers', async () => {
  const { source, watch } = await open();
  const channel = await watch();
  const arriving = firstGroup(channel);
  const bytes = randomBytes(3_000_000);
  const writer = source.openGroup();
  await writer.write(frameHeader(bytes.length));
  await writer.write(bytes);
  await writer.end();
  const frames = [];
  for await (const frame of readFrames(await arriving)) frames.push(frame);
  expect(frames).toHaveLength(1);
  expect(frames[0]!.equals(bytes)).toBe(true);
  expect(channel.status()).toMatchObject({ fromGroup: 0, expired: 0, forged: 0 });
  expect(source.status()).toMatchObject({ receivers: 1, refusedReports: 0 });
  expect(source.status().group).toBeUndefined();
});

it('brings it by multicast to several receivers, and costs no copies then', async () => {
  const { source, watch, watchElsewhere } = await open({ group, source: '127.0.0.1' });
  const channels = [await watch(), await watchElsewhere()];
  await Promise.all(channels.map((channel) => reaches(channel, 'receiving')));
  const { copies } = source.status();
  const arriving = channels.map(async (channel) => readAll(await firstGroup(channel)));
  const bytes = randomBytes(1_000_000);
  const writer = source.openGroup();
  await writer.write(bytes);
  await writer.end();
  for (const received of await Promise.all(arriving)) expect(received.equals(bytes)).toBe(true);
  for (const channel of channels) expect(channel.status()!.fromGroup).toBeGreaterThan(bytes.length / 1300);
  expect(source.status().copies - copies).toBeLessThan(source.status().packets);
});

it('brings it by a relay that sends to the group, and by copies while that sends nothing', async () => {
  const relayed = { ...group, port: group.port + 1 };
  const relay = await startMulticastRelay(relayed);
  const { watch } = await open({
    group: relayed,
    source: '127.0.0.1',
    relay: { address: '127.0.0.1', port: relay.port },
  });
  const channel = await watch();
  await reaches(channel, 'receiving');
  await expect.poll(() => channel.status()!.fromGroup).toBeGreaterThan(0);
  relay.passes = () => false;
  await reaches(channel, 'unicast');
  relay.passes = () => true;
  await reaches(channel, 'receiving');
});

it('ends on both sides when a receiver leaves, and when the source closes', async () => {
  const { source, watch, watchElsewhere, ended } = await open();
  const leaving = await watch();
  const staying = await watchElsewhere();
  await expect.poll(() => source.status().receivers).toBe(2);
  await expect.poll(() => staying.status()).toBeDefined();
  await expect.poll(() => leaving.status()).toBeDefined();
  const left = once(leaving, 'close');
  leaving.leave();
  expect(await left).toEqual(['wish']);
  await expect.poll(() => source.status().receivers).toBe(1);
  await expect.poll(ended).toBe(1);
  const withdrawn = once(staying, 'close');
  source.close();
  expect(await withdrawn).toEqual(['withdrawn']);
  await expect.poll(ended).toBe(2);
  expect(() => source.openGroup()).toThrow(expect.objectContaining({ code: 'CHANNEL_CLOSED' }));
});

it('takes one request of a connection for a channel', async () => {
  const { source, watch, served } = await open();
  const first = await watch();
  await expect.poll(() => source.status().receivers).toBe(1);
  await expect(watch()).rejects.toThrow('reset the stream');
  expect(served).toEqual([true, false]);
  expect(source.status().receivers).toBe(1);
  const left = once(first, 'close');
  first.leave();
  await left;
  await expect.poll(() => source.status().receivers).toBe(0);
  await watch();
  await expect.poll(() => served).toEqual([true, false, true]);
});

it('lets what has arrived be read when the channel is over', async () => {
  const { source, watch } = await open();
  const channel = await watch();
  const arriving = firstGroup(channel);
  const writer = source.openGroup();
  await writer.write(Buffer.from('the last words'));
  await writer.end();
  const last = await arriving;
  // Packets come in their order, so the end of the first group is here as well.
  const next = firstGroup(channel);
  await source.openGroup().write(Buffer.from('more'));
  await next;
  const over = once(channel, 'close');
  source.close();
  await over;
  expect((await readAll(last)).toString()).toBe('the last words');
});

it('tells receivers that a group is reset, and has room for further ones again', async () => {
  const { source, watch } = await open();
  const arriving = firstGroup(await watch());
  const writers = Array.from({ length: 64 }, () => source.openGroup());
  expect(() => source.openGroup()).toThrow(expect.objectContaining({ code: 'TOO_MANY_GROUPS' }));
  const [oldest, ...others] = writers;
  await oldest!.write(Buffer.from('a part'));
  for (const other of others) await other.end();
  expect(() => source.openGroup()).toThrow(expect.objectContaining({ code: 'TOO_MANY_GROUPS' }));
  const read = readAll(await arriving);
  await oldest!.reset(5);
  await expect(read).rejects.toMatchObject({ code: 'GROUP_RESET', errorCode: 5 });
  await source.openGroup().end();
});

it('takes nothing for a group that has ended', async () => {
  const { source } = await open();
  const writer = source.openGroup();
  await writer.end();
  for (const attempt of [writer.write(Buffer.from('more')), writer.end(), writer.reset()])
    await expect(attempt).rejects.toMatchObject({ code: 'GROUP_ENDED' });
});

it('has as many channels one after another as one likes, also when groups of them are not read to their end', async () => {
  const { source, watch } = await open();
  for (let round = 0; round < 20; round += 1) {
    const channel = await watch();
    const arriving = firstGroup(channel);
    const writer = source.openGroup();
    await writer.write(Buffer.from('a part'));
    for await (const part of await arriving) {
      expect(part.toString()).toBe('a part');
      break;
    }
    await writer.reset();
    const left = once(channel, 'close');
    channel.leave();
    await left;
    await expect.poll(() => source.status().receivers, { interval: 5 }).toBe(0);
  }
});

it('leaves nothing open when a channel cannot be watched on an interface', async () => {
  const { source, watch } = await open();
  await expect(watch({ interface: 'none0' })).rejects.toThrow('no interface none0');
  await expect.poll(() => source.status().receivers).toBe(0);
  await watch();
  await expect.poll(() => source.status().receivers).toBe(1);
});

it('tells a client that is refused', async () => {
  const { watch } = await open();
  await expect(watch({ path: '/other' })).rejects.toMatchObject({ code: 'CHANNEL_REFUSED', errorCode: 404 });
});

it('ends channels with their connection', async () => {
  const { client, watch } = await open();
  const channel = await watch();
  const over = once(channel, 'close');
  await client.close();
  expect(await over).toEqual([undefined]);
});

it('says what is wrong with the options of a source', () => {
  expect(() => openChannelSource({ group, source: '203.0.113.9' })).toThrow(
    expect.objectContaining({ code: 'EADDRNOTAVAIL' }),
  );
  expect(() => openChannelSource({ group, source: '::1' })).toThrow('one family');
  expect(() => openChannelSource({ group, source: '127.0.0.1', relay: { address: 'here', port: 6000 } })).toThrow(
    'the relay is no IP address',
  );
  expect(() => openChannelSource({ interface: 'none0' })).toThrow('no interface none0');
  expect(() => openChannelSource({ authentication: 'timed', rate: 125_000_000, reach: 8192 })).toThrow(
    'needs a `reach` of 14424 packets',
  );
});

import { once } from 'node:events';
import { watchChannel, type Http3Client, type WatchedChannel } from '@sheaf/native';
import { expect, it } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { connect } from '../support/http3_client.js';

/** A gateway with a channel without a group, and clients of it on addresses of this machine */
async function startChannel(options: string) {
  const { gateway, port } = await startFullGateway(
    `channels: { live: { ${options} } }\nroutes: [{ path: /live, channel: live }]\n`,
  );
  return {
    connect: (localAddress: string) => connect(port, { datagrams: true, localAddress }),
    /** Returns the status of the only channel. */
    live: () => {
      const { channels, limitHits } = gateway.status();
      return { ...channels![0]!, limitHits };
    },
  };
}

/** Joins the channel. Returns undefined when the gateway refuses with status 503. */
async function join(client: Http3Client): Promise<WatchedChannel | undefined> {
  try {
    return await watchChannel(client, { path: '/live' });
  } catch (error) {
    expect(error).toMatchObject({ code: 'CHANNEL_REFUSED', errorCode: 503 });
    return undefined;
  }
}

it('leaves places of a channel to others when one client asks for all of them', async () => {
  const { connect, live } = await startChannel('receivers: 8');
  const greedy = [];
  for (let count = 0; count < 10; count += 1) {
    const client = await connect('127.0.0.2');
    greedy.push({ client, channel: await join(client) });
  }
  const joined = greedy.filter(({ channel }) => channel);
  expect(joined).toHaveLength(4);
  const others = [];
  for (const address of ['127.0.0.3', '127.0.0.3', '127.0.0.4']) others.push(await join(await connect(address)));
  expect(others.every((channel) => channel)).toBe(true);
  expect(await join(await connect('127.0.0.2'))).toBeUndefined();
  expect(live()).toMatchObject({ receivers: 7, limitHits: { channel_places: 7, channel_joins: 0 } });
  // Its places are free when its connections are gone, whether it has left or not.
  await Promise.all(greedy.map(({ client }) => client.close()));
  await expect.poll(() => live().receivers).toBe(3);
  const later = await connect('127.0.0.2');
  await expect.poll(() => join(later)).toBeDefined();
});

it('holds a client down that comes and goes on new connections, and no other one', async () => {
  const { connect, live } = await startChannel('receivers: 100');
  const joinAnew = async () => join(await connect('127.0.0.2'));
  let stays = 0;
  let networksHeldDown = 0;
  for (let channel = await joinAnew(); channel; channel = await joinAnew()) {
    stays += 1;
    const offered = channel;
    await expect.poll(() => offered.status()).toBeDefined();
    const left = once(channel, 'close');
    channel.leave();
    await left;
    await expect.poll(() => live().receivers).toBe(0);
    ({ networksHeldDown } = live());
  }
  expect(stays).toBeGreaterThan(10);
  expect(networksHeldDown).toBe(1);
  expect(live().limitHits).toMatchObject({ channel_places: 0, channel_joins: 1 });
  expect(await join(await connect('127.0.0.3'))).toBeDefined();
});

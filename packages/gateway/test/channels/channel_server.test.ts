import { EventEmitter } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ChannelSourceOptions, NativeModule, ServerRequest, ServerResponse } from '@sheaf/native';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ChannelServer } from '../../src/channels/channel_server.js';
import type { ChannelWorker } from '../../src/channels/channel_worker.js';
import { channelsOptions } from '../../src/schema/channels.js';
import { routeOptions } from '../../src/schema/routes.js';
import { NodeKey } from '../../src/values/node_key.js';

/** Opens the channels of a configuration. Returns the options of their sources, and whether each is closed. */
async function open(channels: Record<string, unknown>, worker?: ChannelWorker) {
  const shared: string[] = [];
  const sharedChannel = (name: string) => {
    shared.push(name);
    return { serve: () => true, heldDownMs: () => 0 };
  };
  const sources: { options: ChannelSourceOptions; closed: boolean; served: number; heldMs: number }[] = [];
  const openChannelSource = (options: ChannelSourceOptions) => {
    const source = {
      options,
      closed: false,
      served: 0,
      heldMs: 0,
      close: () => (source.closed = true),
      heldDownMs: () => source.heldMs,
      serve: () => (source.served += 1) > 0,
    };
    sources.push(source);
    return source;
  };
  const opening = ChannelServer.open({
    module: { openChannelSource, sharedChannel } as unknown as NativeModule,
    channels: channelsOptions.parse(channels),
    routes: Object.keys(channels).map((channel) => routeOptions.parse({ path: `/${channel}`, channel })),
    worker,
    log: pino({ level: 'silent' }),
  });
  return { sources, shared, opening };
}

async function keyFile(pem: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-channel-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, 'live.key');
  await writeFile(file, pem);
  await chmod(file, 0o600);
  return file;
}

const group = { group: '232.1.2.3:5004', source: '192.0.2.1' };

it('signs with the key of a file', async () => {
  const key = NodeKey.generate();
  const { sources, opening } = await open({ live: { ...group, key: await keyFile(key.toPem()) }, other: group });
  await opening;
  expect(sources.map(({ options }) => options.seed)).toEqual([key.seed(), undefined]);
});

it('closes what it opened when a key cannot be used', async () => {
  const { sources, opening } = await open({ first: group, live: { ...group, key: await keyFile('no key') } });
  await expect(opening).rejects.toMatchObject({ code: 'KEY_UNUSABLE' });
  expect(sources.map(({ closed }) => closed)).toEqual([true]);
});

it('hands the relay of a channel to its source', async () => {
  const { sources, opening } = await open({ live: { ...group, relay: '198.51.100.7:6000' }, other: group });
  await opening;
  expect(sources.map(({ options }) => options.relay)).toEqual([{ address: '198.51.100.7', port: 6000 }, undefined]);
});

it('begins a new key when a receiver leaves, unless everybody may join', async () => {
  const { sources, opening } = await open({
    everybody: group,
    some: { ...group, clients: '192.0.2.0/24', key_interval: '3s' },
    either: { ...group, key_on_leaving: true },
    neither: { ...group, clients: '192.0.2.0/24', key_on_leaving: false },
  });
  await opening;
  expect(sources.map(({ options }) => [options.keyOnLeaving, options.keyIntervalMs])).toEqual([
    [false, 10_000],
    [true, 3_000],
    [true, 10_000],
    [false, 10_000],
  ]);
  expect(() => channelsOptions.parse({ live: { key_interval: '900ms' } })).toThrow('a second or longer');
});

/** A response to a request that joins a channel: its status is undefined when the client is served. */
class Answer extends EventEmitter {
  status: number | undefined;
  headers: Record<string, string> = {};

  writeHead(status: number, headers: Record<string, string>): this {
    Object.assign(this, { status, headers });
    return this;
  }
  end(): this {
    return this;
  }
}

/** Asks for a channel as a client with this address. */
function ask(server: ChannelServer, url: string, address: string): Answer {
  const answer = new Answer();
  const remoteAddress = { address, port: 5000 };
  const request = { url, authority: 'localhost', remoteAddress } as unknown as ServerRequest;
  server.answer(request, answer as unknown as ServerResponse);
  return answer;
}

it('refuses strangers of a channel, and receivers beyond its places', async () => {
  const { sources, opening } = await open({ some: { ...group, clients: '192.0.2.0/24', receivers: 2 } });
  const server = await opening;
  expect(ask(server, '/other', '192.0.2.7').status).toBe(404);
  expect(ask(server, '/some', '198.51.100.7').status).toBe(403);
  expect(ask(server, '/some', '192.0.2.7').status).toBeUndefined();
  expect(ask(server, '/some', '192.0.2.8').status).toBeUndefined();
  expect(ask(server, '/some', '192.0.2.9').status).toBe(503);
  expect(sources[0]?.served).toBe(2);
});

it.each([
  ['one address', () => '198.51.100.7', '198.51.100.8'],
  ['many addresses of one /56', (index: number) => `2001:db8:0:4${index % 10}::${index}`, '2001:db8:0:100::1'],
])('leaves places of a channel to others when %s asks for all', async (_name, greedy, other) => {
  const { opening } = await open({ live: { ...group, receivers: 100 } });
  const server = await opening;
  const asked = Array.from({ length: 200 }, (_, index) => ask(server, '/live', greedy(index)));
  const served = asked.filter(({ status }) => status === undefined);
  const [refused] = asked.filter(({ status }) => status !== undefined);
  expect(served).toHaveLength(50);
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  expect(server.limitHits).toEqual({ channel_places: 150, channel_joins: 0 });
  for (let count = 0; count < 20; count += 1) expect(ask(server, '/live', other).status).toBeUndefined();
  expect(ask(server, '/live', greedy(0)).status).toBe(503);
  for (const answer of served.slice(0, 30)) answer.emit('close');
  expect(ask(server, '/live', greedy(0)).status).toBeUndefined();
});

it('refuses clients of a network that is held down, and says for how long', async () => {
  const { sources, opening } = await open({ live: group });
  const server = await opening;
  sources[0]!.heldMs = 1_001;
  expect(ask(server, '/live', '192.0.2.7')).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  expect(server.limitHits).toEqual({ channel_places: 0, channel_joins: 1 });
  sources[0]!.heldMs = 0;
  expect(ask(server, '/live', '192.0.2.7').status).toBeUndefined();
});

it('has the sources at one worker, and each worker lets its part of the receivers join', async () => {
  const worker = { process: Buffer.of(0xab, 0xcd), count: 3 };
  const channels = { live: { ...group, receivers: 6 } };
  const first = await open(channels, { ...worker, index: 0 });
  expect(first.sources).toMatchObject([{ options: { sharedAs: 'abcd live', maxReceivers: 6 } }]);
  await first.opening;
  const second = await open(channels, { ...worker, index: 1 });
  expect([second.sources, second.shared]).toEqual([[], ['abcd live']]);
  const server = await second.opening;
  const statuses = ['192.0.2.7', '192.0.2.8', '192.0.2.9'].map((address) => ask(server, '/live', address).status);
  expect(statuses).toEqual([undefined, undefined, 503]);
  expect([server.status(), server.carry('live')]).toEqual([[], undefined]);
  expect(server.publish('live', Readable.from([]), { name: 'a', directory: false })).toBeUndefined();
});

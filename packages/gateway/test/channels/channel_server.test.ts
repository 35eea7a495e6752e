import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChannelSourceOptions, NativeModule, ServerRequest, ServerResponse } from '@sheaf/native';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ChannelServer } from '../../src/channels/channel_server.js';
import { channelsOptions } from '../../src/schema/channels.js';
import { routeOptions } from '../../src/schema/routes.js';
import { NodeKey } from '../../src/values/node_key.js';

/** Opens the channels of a configuration. Returns the options of their sources, and whether each is closed. */
async function open(channels: Record<string, unknown>) {
  const sources: { options: ChannelSourceOptions; closed: boolean; served: number }[] = [];
  const openChannelSource = (options: ChannelSourceOptions) => {
    const source = {
      options,
      closed: false,
      served: 0,
      close: () => (source.closed = true),
      status: () => ({ receivers: source.served }),
      serve: () => (source.served += 1) > 0,
    };
    sources.push(source);
    return source;
  };
  const opening = ChannelServer.open({
    module: { openChannelSource } as unknown as NativeModule,
    channels: channelsOptions.parse(channels),
    routes: Object.keys(channels).map((channel) => routeOptions.parse({ path: `/${channel}`, channel })),
    log: pino({ level: 'silent' }),
  });
  return { sources, opening };
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

/** A request of a client with this address for a channel, and what the server says to it: undefined when it is served. */
function ask(server: ChannelServer, url: string, address: string): number | undefined {
  let status: number | undefined;
  const response = {
    once: () => response,
    writeHead: (code: number) => {
      status = code;
      return response;
    },
    end: () => response,
  };
  const remoteAddress = { address, port: 5000 };
  const request = { url, authority: 'localhost', remoteAddress } as unknown as ServerRequest;
  server.answer(request, response as unknown as ServerResponse);
  return status;
}

it('refuses strangers of a channel, and receivers beyond its places', async () => {
  const { sources, opening } = await open({ some: { ...group, clients: '192.0.2.0/24', receivers: 2 } });
  const server = await opening;
  expect(ask(server, '/other', '192.0.2.7')).toBe(404);
  expect(ask(server, '/some', '198.51.100.7')).toBe(403);
  expect(ask(server, '/some', '192.0.2.7')).toBeUndefined();
  expect(ask(server, '/some', '192.0.2.8')).toBeUndefined();
  expect(ask(server, '/some', '192.0.2.9')).toBe(503);
  expect(sources[0]?.served).toBe(2);
});

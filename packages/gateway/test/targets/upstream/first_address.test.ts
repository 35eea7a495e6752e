import { createSocket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import dns from 'node:dns/promises';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { connectHttp3 } from '@sheaf/native';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { startFullGateway } from '../../support/gateway.js';
import { ask, connect } from '../../support/http3_client.js';
import { startUpstream } from '../../support/upstream.js';

const resolver = { addresses: [] as string[], asked: 0 };

beforeAll(() => {
  const lookup = (): Promise<LookupAddress[]> => {
    resolver.asked += 1;
    return Promise.resolve(resolver.addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  const own = dns.lookup;
  replaceLookup(lookup as unknown as typeof dns.lookup);
  return () => replaceLookup(own);
});

/** Modules that have imported the function by its name use the other one, too. */
function replaceLookup(lookup: typeof dns.lookup): void {
  dns.lookup = lookup;
  syncBuiltinESMExports();
}

/** An address with a socket that takes datagrams and never answers, at the gateway's port. */
async function silent(address: string, port: number): Promise<{ datagrams: number; ports: Set<number> }> {
  const heard = { datagrams: 0, ports: new Set<number>() };
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4', (_, from) => {
    heard.datagrams += 1;
    heard.ports.add(from.port);
  });
  socket.bind(port, address);
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return heard;
}

async function start(): Promise<number> {
  const upstream = await startUpstream((_, response) => void response.end('here'));
  return (await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`)).port;
}

it('a connection is made although the first addresses of the host drop everything', async () => {
  const port = await start();
  const heard = await silent('127.0.0.3', port);
  resolver.addresses = ['127.0.0.3', '127.0.0.1'];
  const client = await connect(port, { host: 'gateway.test', serverName: 'localhost' });
  expect((await ask(client, { path: '/' })).body.toString()).toBe('here');
  expect(resolver.asked).toBeGreaterThan(0);
  expect(heard.datagrams).toBeGreaterThan(0);
});

it('an address that nothing can be sent to is passed over', async () => {
  const port = await start();
  // Nobody can send there from a socket of IPv6, if there is one at all.
  resolver.addresses = ['::ffff:0:0', '127.0.0.1'];
  const client = await connect(port, { host: 'gateway.test', serverName: 'localhost' });
  expect((await ask(client, { path: '/' })).body.toString()).toBe('here');
});

it('when none answers, the failure of the first one is told', async () => {
  const port = await start();
  const [first, second] = [await silent('127.0.0.3', port), await silent('127.0.0.4', port)];
  resolver.addresses = ['127.0.0.3', '127.0.0.4'];
  await expect(connectHttp3({ host: 'gateway.test', port, alpn: ['h3'], connectTimeoutMs: 1_500 })).rejects.toThrow(
    'no response within 1.5 s',
  );
  expect(first.ports.size).toBe(1);
  expect(second.ports.size).toBe(1);
});

import { once } from 'node:events';
import { createHttp3Server, createLinkRelay, type ServerConnection } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { ask, connect } from '../support/http3_client.js';

/** A client that begins with datagrams of 1350 bytes, over a link that carries so many, and the path as both sides see it */
async function start(mtu: number) {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate });
  server.on('request', (_request, response) => response.end('here'));
  const target = { address: '127.0.0.1', port: (await server.listen()).port };
  onTestFinished(() => server.close(0));
  const link = { mtu };
  const relay = createLinkRelay({ listen: { address: '127.0.0.1', port: 0 }, target, there: link, back: link });
  onTestFinished(() => relay.close());
  const accepted = once(server, 'connection') as Promise<[ServerConnection]>;
  const client = await connect(relay.listen().port, { firstDatagram: 1350 });
  const sizes = { client: client.status().paths[0]!.mtu };
  const [connection] = await accepted;
  return { client, connection, relay, sizes };
}

it('a client whose first datagrams arrive sends as many bytes from then on, and the server tries as many first', async () => {
  let begun = await start(1_400);
  // On a busy machine the client's timer may ring ahead of the response, so that it falls back.
  for (let attempt = 0; attempt < 5 && begun.sizes.client < 1_350; ++attempt) begun = await start(1_400);
  const { client, connection, relay, sizes } = begun;
  expect(sizes.client).toBeGreaterThanOrEqual(1_350);
  for (let mtu = 0; mtu < 1_350; mtu = connection.status().paths[0]!.mtu) await ask(client, { path: '/' });
  // Three lost probes would be needed to know that larger ones do not arrive.
  expect(relay.stats().back.tooLarge).toBeLessThan(3);
});

it('a client whose path does not carry its first datagrams goes on with 1200 bytes', async () => {
  const { client, relay, sizes } = await start(1_300);
  expect(sizes.client).toBe(1_200);
  expect(relay.stats().there.tooLarge).toBeGreaterThanOrEqual(1);
  expect((await ask(client, { path: '/' })).status).toBe(200);
});

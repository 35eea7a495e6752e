import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { ClientResponse, Http3Client } from '@sheaf/native';
import { expect, it, vi } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { connect } from '../support/http3_client.js';
import { capsule, startTarget, unusedUdpPort } from '../support/udp_target.js';

const messageError = 0x10e;
const connectError = 0x10f;
const datagramError = 0x33;

async function startProxy(more = '') {
  const { gateway, port } = await startFullGateway(
    `tls: dev
routes:
  - path: /masque/
    connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8${more} }
`,
  );
  return { gateway, client: await connect(port) };
}

/** Asks for a tunnel. Sends pieces of its stream, which then stays open unless `ends`. */
function ask(client: Http3Client, port: number, pieces: Iterable<Buffer> = [], ends = false): Promise<ClientResponse> {
  async function* body(): AsyncGenerator<Buffer> {
    yield* pieces;
    if (!ends) await new Promise(() => undefined);
  }
  return client.request({
    method: 'CONNECT',
    protocol: 'connect-udp',
    path: `/masque/127.0.0.1/${port}/`,
    body: body(),
  });
}

/** Returns the code with which a request breaks off, before its response or after it; nothing when it ends in order. */
async function codeOf(request: Promise<ClientResponse>): Promise<number | undefined> {
  try {
    await finished((await request).resume());
    return undefined;
  } catch (error) {
    return (error as { errorCode?: number }).errorCode;
  }
}

it('capsules in pieces, of unknown types and of unknown contexts cost a tunnel nothing', async () => {
  const target = await startTarget((packet) => Buffer.from(packet.toString().toUpperCase()));
  const { gateway, client } = await startProxy();
  const reserved = Buffer.concat([Buffer.from([0x17, 0x40, 100]), Buffer.alloc(100)]);
  const bytes = Buffer.concat([capsule('nobody', 2), reserved, capsule('a packet')]);
  const response = await ask(
    client,
    target.address().port,
    Array.from(bytes, (byte) => Buffer.from([byte])),
  );
  expect([response.status, response.headers['capsule-protocol']]).toEqual([200, '?1']);
  const [received] = (await once(response, 'data')) as [Buffer];
  expect(received).toEqual(capsule('A PACKET'));
  expect(gateway.status().tunnels).toMatchObject({ open: 1, packetsToTarget: 1, drops: { unknownContext: 1 } });
});

it.each([
  ['a capsule that is cut', [Buffer.from([0, 9, 0])], true, messageError],
  ['a head that is cut', [Buffer.from([0x40])], true, messageError],
  ['a capsule without an end', [Buffer.from([0, 0xff, ...new Array<number>(7).fill(0xff)])], false, messageError],
  ['a payload above those of UDP', [Buffer.from([0, 0x80, 1, 0, 8])], false, messageError],
  ['a datagram without a context', [Buffer.from([0, 0])], false, datagramError],
  ['a context that is cut', [Buffer.from([0, 1, 0xc0])], false, datagramError],
  ['a whole capsule', [capsule('x')], true, undefined],
])('%s ends its tunnel alone', async (_what, pieces, ends, code) => {
  const target = await startTarget();
  const { client } = await startProxy();
  const other = await ask(client, target.address().port);
  expect(await codeOf(ask(client, target.address().port, pieces, ends))).toBe(code);
  expect(other.status).toBe(200);
  expect((await ask(client, target.address().port)).status).toBe(200);
});

it('a target that refuses ends its tunnel', async () => {
  const port = await unusedUdpPort();
  const { gateway, client } = await startProxy();
  expect(await codeOf(ask(client, port, [capsule('knock')]))).toBe(connectError);
  await vi.waitFor(() => expect(gateway.status().tunnels).toMatchObject({ open: 0 }), { timeout: 30_000 });
});

it('a client that opens as many tunnels as it can gets those of its address, and others once they are over', async () => {
  const target = await startTarget();
  const { gateway, client } = await startProxy(', tunnels_per_address: 300');
  const responses = await Promise.all(Array.from({ length: 400 }, () => ask(client, target.address().port)));
  const counts = (status: number): number => responses.filter((each) => each.status === status).length;
  expect([counts(200), counts(429)]).toEqual([300, 100]);
  expect(gateway.status().tunnels).toMatchObject({ open: 300, answers: { 200: 300, 429: 100 } });
  for (const response of responses) response.on('error', () => undefined).destroy();
  await vi.waitFor(() => expect(gateway.status().tunnels).toMatchObject({ open: 0 }), { timeout: 30_000 });
  expect((await ask(client, target.address().port)).status).toBe(200);
});

it('all tunnels of a client together carry no more than its rate', async () => {
  const silent = await startTarget();
  const { gateway, client } = await startProxy(', rate: 1KiB');
  const flood = Buffer.concat(Array.from({ length: 1_000 }, () => capsule('x'.repeat(60))));
  await Promise.all(Array.from({ length: 4 }, () => ask(client, silent.address().port, [flood])));
  await vi.waitFor(
    () => {
      const { packetsToTarget = 0, drops } = gateway.status().tunnels ?? {};
      expect(packetsToTarget + (drops?.targetBlocked ?? 0) + (drops?.overRate ?? 0)).toBe(4_000);
    },
    { timeout: 30_000 },
  );
  // 128 KiB at once, and what the seconds of this test bring
  expect(gateway.status().tunnels?.drops.overRate).toBeGreaterThan(1_000);
  expect(gateway.status().tunnels?.drops.overRate).toBeLessThanOrEqual(4_000 - Math.floor((128 * 1_024) / 60));
});

it('packets that nobody responds to take nothing from another tunnel', async () => {
  const silent = await startTarget();
  const echo = await startTarget((packet) => packet);
  const { gateway, client } = await startProxy();
  const flood = Buffer.concat(Array.from({ length: 1_000 }, () => capsule('x'.repeat(60))));
  await Promise.all(Array.from({ length: 20 }, () => ask(client, silent.address().port, [flood, flood])));
  const response = await ask(client, echo.address().port, [capsule('here')]);
  expect(((await once(response, 'data')) as [Buffer])[0]).toEqual(capsule('here'));
  await vi.waitFor(
    () => {
      const { packetsToTarget = 0, drops } = gateway.status().tunnels ?? {};
      expect(packetsToTarget + (drops?.targetBlocked ?? 0)).toBe(40_001);
    },
    { timeout: 30_000 },
  );
});

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHttp3Server, createLinkRelay, type Http3Client, type LinkOptions, type LinkRelay } from '@sheaf/native';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { startFullGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { ecn, openMarkedSocket } from '../support/marked_udp.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { capsule, startTarget } from '../support/udp_target.js';

const messageError = 0x10e;

async function startProxy() {
  const { gateway, port } = await startFullGateway(
    `tls: dev
routes:
  - path: /masque/
    connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8 }
`,
  );
  return { gateway, port };
}

/** A path to a port of this machine */
function relayTo(port: number, there: LinkOptions, back: LinkOptions): { relay: LinkRelay; port: number } {
  const local = { address: '127.0.0.1', port: 0 };
  const relay = createLinkRelay({ listen: local, target: { ...local, port }, there, back });
  onTestFinished(() => relay.close());
  return { relay, port: relay.listen().port };
}

/** Opens a local port that leads to a port of this machine. Returns its number. */
const openPort = (client: Http3Client, target: number): number =>
  client.openTunnelPort({
    local: { address: '127.0.0.1', port: 0, family: 'IPv4' },
    path: `/masque/127.0.0.1/${target}/`,
  }).address.port;

/** Asks for a tunnel with the ids of a client that takes capsules. Its stream stays open behind `pieces`. */
function askWith(client: Http3Client, contexts: string, target: number, pieces: readonly Buffer[] = []) {
  async function* body(): AsyncGenerator<Buffer> {
    yield* pieces;
    await new Promise(() => undefined);
  }
  return client.request({
    method: 'CONNECT',
    protocol: 'connect-udp',
    path: `/masque/127.0.0.1/${target}/`,
    headers: { 'ecn-dscp-context-id': contexts },
    body: body(),
  });
}

it('marks pass from a program to its target and back', async () => {
  const { port } = await startProxy();
  const [program, target] = [await openMarkedSocket(), await openMarkedSocket()];
  const local = openPort(await connect(port, { datagrams: true, firstDatagram: 1_350 }), target.port);
  for (const mark of [ecn.ect0, ecn.none, ecn.ect1, ecn.ce]) {
    program.send({ port: local, ecn: mark, text: `there ${mark}` });
    const there = await target.next();
    expect(there).toMatchObject({ ecn: mark, text: `there ${mark}` });
    const back = (mark + 1) % 4;
    target.send({ port: there.port, ecn: back, text: `back ${back}` });
    expect(await program.next()).toEqual({ port: local, ecn: back, text: `back ${back}` });
  }
});

it('a client has ids of its own for each DSCP, in capsules, too', async () => {
  const { port } = await startProxy();
  const target = await openMarkedSocket();
  const pieces = [capsule('one', 14), capsule('two', 2), capsule('three', 0), capsule('four', 3)];
  const response = await askWith(await connect(port), '(46 8 10 12 14);name=1,(0 0 2 4 6)', target.port, pieces);
  expect([response.status, response.headers['ecn-dscp-context-id']]).toEqual([200, '(0 0 3 5 7)']);
  const received = [await target.next(), await target.next(), await target.next(), await target.next()];
  // Ids of the proxy are for both directions.
  expect(received.map(({ ecn: mark, text }) => [text, mark])).toEqual([
    ['one', ecn.ce],
    ['two', ecn.ect1],
    ['three', ecn.none],
    ['four', ecn.ect1],
  ]);
  target.send({ port: received[0]!.port, ecn: ecn.ect0, text: 'back' });
  expect(((await once(response, 'data')) as [Buffer])[0]).toEqual(capsule('back', 5));
});

it('without the field of a client, its packets go on without marks', async () => {
  const { gateway, port } = await startProxy();
  const target = await openMarkedSocket();
  const client = await connect(port);
  // What is no list of lists is no field (RFC 9651 §4.2).
  for (const field of ['0 0 2 4 6', '(0 0 2 4 6', '(0 0 2 4 6),', '?1']) {
    const response = await askWith(client, field, target.port, [capsule('unknown', 4), capsule('packet')]);
    expect([response.status, response.headers['ecn-dscp-context-id']]).toEqual([200, undefined]);
    const packet = await target.next();
    expect(packet).toMatchObject({ ecn: ecn.none, text: 'packet' });
    target.send({ ...packet, ecn: ecn.ce, text: 'back' });
    expect(((await once(response, 'data')) as [Buffer])[0]).toEqual(capsule('back'));
  }
  expect(gateway.status().tunnels?.drops).toMatchObject({ unknownContext: 4 });
});

/** So many sets of a client, each of another DSCP */
const sets = (count: number): string =>
  Array.from({ length: count }, (_, dscp) => `(${dscp} ${[2, 4, 6, 8].map((id) => id + 8 * dscp).join(' ')})`).join(
    ', ',
  );

it('as many sets as there may be are registered', async () => {
  const { port } = await startProxy();
  const target = await openMarkedSocket();
  await askWith(await connect(port), sets(8), target.port, [capsule('last', 64 - 2)]);
  expect(await target.next()).toMatchObject({ ecn: ecn.ect0, text: 'last' });
});

it.each([
  ['an id twice in a set', '(0 0 2 4 4)'],
  ['an id in two sets', '(0 0 2 4 6), (46 8 10 12 6)'],
  ['a DSCP twice', '(0 0 2 4 6), (0 8 10 12 14)'],
  ['an id of proxies', '(0 0 2 4 7)'],
  ['context 0 for a mark', '(0 2 0 4 6)'],
  ['a set with an id too few', '(0 0 2 4)'],
  ['a set with an id too many', '(0 0 2 4 6 8)'],
  ['a set without ids', '()'],
  ['no DSCP', '(64 0 2 4 6)'],
  ['a negative id', '(0 0 2 4 -6)'],
  ['an id that no integer of a field can be', '(0 0 2 4 4611686018427387902)'],
  ['too many sets', sets(9)],
])('a client that registers %s gets 400, and no other one', async (_what, field) => {
  const { gateway, port } = await startProxy();
  const target = await startTarget();
  const client = await connect(port);
  expect((await askWith(client, field, target.address().port)).status).toBe(400);
  expect((await askWith(client, '(0 0 2 4 6)', target.address().port)).status).toBe(200);
  expect(gateway.status().tunnels).toMatchObject({ open: 1, answers: { 200: 1, 400: 1 } });
});

it('congestion between client and proxy passes to packets with marks', async () => {
  const proxy = await startProxy();
  const [program, target] = [await openMarkedSocket(), await openMarkedSocket()];
  const { port } = relayTo(proxy.port, { rate: 4e6, markBytes: 0 }, {});
  const local = openPort(await connect(port, { datagrams: true, firstDatagram: 1_350 }), target.port);
  const marks = { [ecn.none]: new Set<number>(), [ecn.ect0]: new Set<number>() };
  // The first packet of each kind waits for nothing.
  const text = 'x'.repeat(1_000);
  while (!marks[ecn.ect0].has(ecn.ce)) {
    for (const mark of [ecn.ect0, ecn.none] as const) {
      for (let i = 0; i < 8; ++i) program.send({ port: local, ecn: mark, text: `${mark}${text}` });
    }
    for (let i = 0; i < 16; ++i) {
      const { ecn: mark, text: received } = await target.next();
      marks[Number(received[0]) as 0 | 2].add(mark);
    }
  }
  expect([...marks[ecn.none]]).toEqual([ecn.none]);
});

it('a connection inside uses ECN, and its page arrives through congestion behind the proxy', async () => {
  const directory = await temporaryDirectory();
  const page = Buffer.alloc(300_000, 'page');
  await writeFile(join(directory, 'page.bin'), page);
  const site = await startFullGateway(`tls: dev\nroutes: [{ files: ${directory} }]`);
  const proxy = await startProxy();
  const { relay, port } = relayTo(site.port, { rate: 400e3, markBytes: 0 }, { rate: 40e6, markBytes: 0 });
  const local = openPort(await connect(proxy.port, { datagrams: true, firstDatagram: 1_350 }), port);
  const inside = await connect(local, { longestDatagram: 1_200 });
  // A side that hears nothing of its marks sends ten of them, and no more (RFC 9000 §13.4.2).
  const marked = (): number => Math.min(relay.stats().there.marked, relay.stats().back.marked);
  do expect((await ask(inside, { path: '/page.bin' })).body).toEqual(page);
  while (marked() <= 10);
  expect(proxy.gateway.status().tunnels?.drops).toMatchObject({ unknownContext: 0 });
});

it('a proxy that registers ids against the rules loses the request', async () => {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate, extendedConnect: true });
  onTestFinished(() => server.close(0));
  const codes: unknown[] = [];
  server.on('request', (request, response) => {
    request.on('error', (error: { errorCode?: number }) => codes.push(error.errorCode));
    response.writeHead(200, { 'ecn-dscp-context-id': '(0 0 2 4 6)' }).flushHeaders();
  });
  const { port } = await server.listen();
  const client = await connect(port, { datagrams: true });
  const refused = vi.fn();
  const local = client.openTunnelPort({
    local: { address: '127.0.0.1', port: 0, family: 'IPv4' },
    path: '/masque/127.0.0.1/9/',
    onRefused: refused,
  });
  const program = await openMarkedSocket();
  program.send({ port: local.address.port, ecn: ecn.ect0, text: 'knock' });
  await vi.waitFor(() => expect(codes).toEqual([messageError]), 30_000);
  expect(refused).toHaveBeenCalledOnce();
  expect(local.tunnels).toBe(0);
});

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { constants } from 'node:http2';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { readAll, startTarget } from '../support/tcp_target.js';
import { ask as askFor, versions, type Asked, type Version, type Wanted } from '../support/tcp_tunnels.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const template = '/.well-known/masque/tcp/';
const finalData = Buffer.from([9, 0]);

/** One DATA capsule with less than 64 bytes */
const data = (text: string): Buffer => Buffer.from([8, text.length, ...Buffer.from(text)]);

async function startProxy({ options = 'clients: 127.0.0.0/8', directory = undefined as string | undefined } = {}) {
  const { gateway, port, log } = await startFullGateway(
    `tls: dev\nroutes:\n  - { path: ${template}, host: proxy.example, connect_tcp: { allow: 127.0.0.1, ${options} } }\n`,
    directory,
  );
  return { gateway, port, log };
}

const ask = (version: Version, port: number, target: number, wanted: Wanted = {}): Promise<Asked> =>
  askFor(version, port, { path: `${template}127.0.0.1/${target}/`, ...wanted });

/** Reads this many bytes. */
async function readBytes({ incoming }: Asked, count: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  incoming.resume();
  while (bytes.length < count) bytes = Buffer.concat([bytes, ...((await once(incoming, 'data')) as [Buffer])]);
  incoming.pause();
  return bytes;
}

const codes = [
  ['1.1', undefined],
  ['2', constants.NGHTTP2_CONNECT_ERROR],
  ['3', 0x10f],
] as const;

it.each(versions)('HTTP/%s: bytes travel in capsules both ways, and each side ends by a capsule', async (version) => {
  const target = await startTarget();
  const { gateway, port, log } = await startProxy();
  const asked = await ask(version, port, target.port, { fields: { expect: '100-continue' } });
  expect([asked.status, asked.interim]).toEqual([version === '1.1' ? 101 : 200, true]);
  expect([asked.headers['capsule-protocol'], asked.headers['proxy-status']]).toEqual([
    '?1',
    `sheaf; next-hop="127.0.0.1:${target.port}"`,
  ]);
  const socket = await target.accept();
  for (const byte of data('in pieces')) asked.outgoing.write(Buffer.from([byte]));
  // A type that nobody knows is passed over.
  asked.outgoing.write(Buffer.concat([Buffer.from([0x17, 3, 1, 2, 3]), data(', whole'), finalData]));
  expect(await readAll(socket)).toBe('in pieces, whole');
  socket.end('after its end');
  expect(await readBytes(asked, 17)).toEqual(Buffer.concat([data('after its end'), finalData]));
  asked.outgoing.end();
  asked.incoming.resume();
  expect(await asked.code).toBe(version === '2' ? constants.NGHTTP2_NO_ERROR : undefined);
  await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(0), 10_000);
  expect(log.find(({ msg }) => msg === 'TCP tunnel ended')).toMatchObject({
    reason: 'ended',
    bytesToTarget: 16,
    bytesToClient: 13,
    httpVersion: version,
  });
});

it.each(versions)('HTTP/%s: much that a client sends ahead of its response arrives in order', async (version) => {
  const target = await startTarget();
  const { port } = await startProxy();
  const asked = await ask(version, port, target.port);
  const socket = await target.accept();
  socket.pipe(socket);
  const bytes = Buffer.from(Array.from({ length: 1 << 17 }, (_, index) => index * 7));
  asked.outgoing.write(Buffer.from([8, 0x80, 2, 0, 0]));
  asked.outgoing.write(bytes);
  asked.outgoing.write(finalData);
  let received = Buffer.alloc(0);
  asked.incoming.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  await vi.waitFor(() => expect(received.subarray(-2)).toEqual(finalData), 20_000);
  // Every capsule of the response is DATA with a length of 1 to 4 bytes.
  let echoed = Buffer.alloc(0);
  for (let rest = received; rest[0] === 8;) {
    const head = 1 + (1 << (rest[1]! >> 6));
    const length = rest.readUIntBE(1, head - 1) & (2 ** (8 * (head - 1) - 2) - 1);
    echoed = Buffer.concat([echoed, rest.subarray(head, head + length)]);
    rest = rest.subarray(head + length);
  }
  expect(echoed.equals(bytes)).toBe(true);
});

/** Streams that are no rows of capsules, and whether the client ends its side behind them */
const malformed: readonly [string, number[], boolean][] = [
  ['a capsule that is cut', [8, 9, 0x61], true],
  ['an end without FINAL_DATA', [...data('x')], true],
  ['a capsule without an end', [8, ...new Array<number>(8).fill(0xff)], false],
  ['data behind FINAL_DATA', [9, 0, 8, 1, 0x61], false],
];

it.each(codes)(
  'HTTP/%s: malformed capsules break their tunnel off with code %s, and no other',
  async (version, code) => {
    const target = await startTarget();
    const { gateway, port } = await startProxy();
    const other = await ask(version, port, target.port);
    const echo = await target.accept();
    echo.pipe(echo);
    for (const [what, bytes, ends] of malformed) {
      const asked = await ask(version, port, target.port);
      (await target.accept()).resume();
      asked.incoming.resume();
      asked.outgoing.write(Buffer.from(bytes));
      if (ends) asked.outgoing.end();
      const found = await asked.code;
      // A stream that both sides have ended may get no code any more.
      if (!ends || version === '3') expect(found, what).toBe(code);
      await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open, what).toBe(1), 10_000);
    }
    other.outgoing.write(data('still here'));
    expect(await readBytes(other, 12)).toEqual(data('still here'));
  },
);

it.each(codes)(
  'HTTP/%s: a target that breaks off ends the stream with code %s, and one that rests, too',
  async (version, code) => {
    const target = await startTarget();
    for (const [reason, idle] of [
      ['target', '10m'],
      ['idle', '300ms'],
    ]) {
      const { gateway, port, log } = await startProxy({ options: `clients: 127.0.0.0/8, idle: ${idle}` });
      const asked = await ask(version, port, target.port);
      asked.incoming.resume();
      const socket = await target.accept();
      if (reason === 'target') socket.resetAndDestroy();
      expect(await asked.code).toBe(code);
      await vi.waitFor(() => expect(gateway.status().tcpTunnels?.open).toBe(0), 10_000);
      expect(log.findLast(({ msg }) => msg === 'TCP tunnel ended')).toMatchObject({ reason });
    }
  },
);

it.each(versions)('HTTP/%s: the target hears of a client that breaks off', async (version) => {
  const target = await startTarget();
  const { port } = await startProxy();
  const asked = await ask(version, port, target.port);
  const socket = await target.accept();
  socket.resume();
  const failed = once(socket, 'error');
  asked.reset();
  expect(await failed).toMatchObject([{ code: 'ECONNRESET' }]);
});

it('refuses as CONNECT does, but asks for credentials as an origin, over every version', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'users.txt'), 'ann:a long password\n', { mode: 0o600 });
  const { gateway, port } = await startProxy({ options: 'users: users.txt', directory });
  const unused = await startTarget();
  unused.server.close();
  await once(unused.server, 'close');
  const fields = { authorization: `Basic ${btoa('ann:a long password')}` };
  for (const version of versions) {
    const responded = async (target: number, wanted: Wanted = { fields }) => {
      const { status, interim, headers } = await ask(version, port, target, wanted);
      return [status, interim, headers['proxy-status'], headers['www-authenticate'], headers['cache-control']];
    };
    const basic = 'Basic realm="sheaf"';
    const path = (rest: string): Wanted => ({ fields, path: `${template}${rest}` });
    expect(await responded(9, {})).toEqual([401, false, undefined, basic, 'no-store']);
    expect(await responded(9, { fields: { 'proxy-authorization': 'Basic YTpi', expect: '100-continue' } })).toEqual([
      401,
      false,
      undefined,
      basic,
      'no-store',
    ]);
    expect(await responded(9, path('127.0.0.2/9/'))).toEqual([
      403,
      false,
      'sheaf; error=destination_ip_prohibited',
      undefined,
      'no-store',
    ]);
    expect(await responded(9, path('127.0.0.1/0/'))).toEqual([400, false, undefined, undefined, 'no-store']);
    expect(await responded(9, { fields, path: '/elsewhere/127.0.0.1/9/' })).toEqual([
      404,
      false,
      undefined,
      undefined,
      'no-store',
    ]);
    expect(await responded(unused.port, { fields: { ...fields, expect: '100-continue' } })).toEqual([
      502,
      true,
      'sheaf; error=connection_refused',
      undefined,
      'no-store',
    ]);
    if (version !== '1.1')
      expect((await ask(version, port, 9, { fields, authority: 'other.example' })).status).toBe(421);
    // Such a route is no proxy for CONNECT.
    expect((await askFor(version, port, { authority: '127.0.0.1:9' })).status).toBe(501);
  }
  expect(gateway.status().tcpTunnels).toMatchObject({ open: 0 });
}, 30_000);

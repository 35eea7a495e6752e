import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type * as native from '@sheaf/native';
import type { ClientOptions, Http3Client } from '@sheaf/native';
import { describe, expect, it, vi } from 'vitest';
import { sumOf } from '../../src/workers/sums.js';
import { collect } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { crashWorkers, pagesOfConnections, type CrashReport } from '../support/crashes.js';
import { translatorTo } from '../support/relay.js';
import { inMegabytes, seeds } from '../support/repetitions.js';
import { connectTo } from '../support/tunnel_node.js';
import { readAll, startTarget } from '../support/tcp_target.js';
import { startTarget as startUdpTarget } from '../support/udp_target.js';
import { crash, startWorkers, type RunningWorkers } from '../support/workers.js';

/** How the kernel is to choose workers */
let steering: native.WorkerGroupOptions['steering'];
vi.mock('@sheaf/native', async (original) => {
  const actual = await original<typeof native>();
  const openWorkerGroup: typeof native.openWorkerGroup = (options) =>
    actual.openWorkerGroup({ ...options, ...(steering && { steering }) });
  return { ...actual, openWorkerGroup };
});

const large = randomBytes(4_000_000);
const files = { 'site/a.txt': 'hello', 'site/large.bin': large };
const yaml = (more = ''): string =>
  `listen: 127.0.0.1:0\nworkers: 4\npath_scheduler: round-robin\nroutes: [{ files: ./site }]\n${more}`;

const download = async (client: Http3Client): Promise<Buffer> => collect(await client.request({ path: '/large.bin' }));
const passedOn = async (site: RunningWorkers): Promise<number> =>
  (await site.workers()).reduce((sum, { datagrams }) => sum + datagrams.passedOn, 0);

async function sessionOf(port: number): Promise<Buffer> {
  const client = await connect(port);
  const [session] = (await once(client, 'session')) as [Buffer];
  await client.close();
  return session;
}

describe.each(['ids', 'addresses'] as const)('with workers that the kernel chooses by %s', (by) => {
  const start = async (more = ''): Promise<RunningWorkers> => {
    steering = by;
    const site = await startWorkers(yaml(more), files);
    expect((await site.status()).steering).toBe(by);
    return site;
  };

  it('clients whose address changes keep their connections', async () => {
    const site = await start();
    const translator = await translatorTo(site.port);
    // A client that only receives says nothing from its new address until it has to.
    const keepAliveMs = 200;
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(translator.port, { keepAliveMs })));
    for (const client of clients) await ask(client, { path: '/a.txt' });
    for (let turn = 0; turn < 3; turn++) {
      const downloads = clients.map(download);
      translator.rebind();
      for (const body of await Promise.all(downloads)) expect(body.equals(large)).toBe(true);
    }
    // Of 24 new addresses, some lead elsewhere.
    if (by === 'addresses') expect(await passedOn(site)).toBeGreaterThan(0);
    else expect(await passedOn(site)).toBe(0);
  });

  it('further paths lead to the worker of the first', async () => {
    const site = await start();
    for (let turn = 0; turn < 4; turn++) {
      const client = await connect(site.port, { localAddress: '127.0.0.1' });
      await ask(client, { path: '/a.txt' });
      await vi.waitFor(() => client.openPath({ local: '127.0.0.1' }), 30_000);
      await client.openPath({ local: '127.0.0.1' });
      expect((await download(client)).equals(large)).toBe(true);
      const used = client.status().paths.filter(({ bytesReceived }) => bytesReceived > 20_000);
      expect(used).toHaveLength(3);
    }
  });

  it('Retry is answered by the worker that asked for it', async () => {
    const site = await start('limits: { retry: always }\n');
    for (let turn = 0; turn < 12; turn++)
      expect((await ask(await connect(site.port), { path: '/a.txt' })).status).toBe(200);
    expect((await site.status()).transport?.retriesSent).toBe(12);
  });

  it('a ticket of one worker is good at all, also after it was replaced, and for 0-RTT', async () => {
    const site = await start();
    const session = await sessionOf(site.port);
    const again = async (options: Partial<ClientOptions>) => {
      const client = await connect(site.port, { session, ...options });
      expect((await ask(client, { path: '/a.txt' })).body.toString()).toBe('hello');
      return client.status();
    };
    const early = await Promise.all(
      Array.from({ length: 12 }, async () => again({ session: await sessionOf(site.port), earlyRequests: true })),
    );
    expect(early.map(({ resumed, earlyData }) => [resumed, earlyData])).toEqual(early.map(() => [true, true]));
    for (const worker of [0, 1, 2, 3]) await crash(site.node, worker);
    for (let turn = 0; turn < 8; turn++) expect((await again({})).resumed).toBe(true);
  });

  it('a crash costs the connections of its worker alone, whatever they do', { timeout: 900_000 }, async () => {
    steering = by;
    const resident: number[] = [];
    let total: CrashReport | undefined;
    for (const seed of seeds.filter((each) => each % 2 === (by === 'ids' ? 1 : 0))) {
      const limits = seed % 4 > 1 ? 'limits: { retry: always }\n' : '';
      const site = await startWorkers(yaml(limits), pagesOfConnections());
      const report = await crashWorkers(site, seed);
      total = sumOf([report, ...(total ? [total] : [])]);
      await site.running.close(0);
      resident.push(process.memoryUsage().rss);
    }
    console.info(`seeds of ${seeds.length}: ${JSON.stringify(total)}, ${resident.map(inMegabytes).join(', ')} MB`);
    // In a few seconds, not everything may happen that is left to chance.
    if (seeds.length >= 10) for (const count of Object.values(total!)) expect(count).toBeGreaterThan(0);
    const half = Math.floor(resident.length / 2);
    expect(resident.at(-1)! - resident[half]!).toBeLessThan(64 * 2 ** 20);
  });
});

it('tickets of TLS over TCP are good at all workers', async () => {
  steering = undefined;
  const site = await startWorkers(yaml(), files);
  const open = async (session?: Buffer): Promise<TLSSocket> => {
    const options = { host: '127.0.0.1', port: site.port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] };
    const socket = connectTls({ ...options, ...(session && { session }) });
    await once(socket, 'secureConnect');
    return socket;
  };
  const first = await open();
  const [session] = (await once(first, 'session')) as [Buffer];
  first.destroy();
  for (const worker of [1, 3]) await crash(site.node, worker);
  for (let turn = 0; turn < 12; turn++) {
    const socket = await open(session);
    expect(socket.isSessionReused()).toBe(true);
    socket.destroy();
  }
});

it('tunnels for TCP and for UDP lead through any worker', async () => {
  steering = undefined;
  const [tcp, udp] = [await startTarget(), await startUdpTarget((packet) => packet)];
  const text = `
nodes:
  site:
    role: gateway
    listen: 127.0.0.1:0
    workers: 4
    routes:
      - connect: { allow: [127.0.0.1], clients: 127.0.0.0/8 }
      - { path: /.well-known/masque/udp/, connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8 } }
${[0, 1, 2]
  .map(
    (index) => `  laptop${index}:
    role: tunnel
    gateway: site
    forward:
      - { listen: "127.0.0.1:0", to: "127.0.0.1:${tcp.port}" }
      - { listen: "127.0.0.1:0", to: "127.0.0.1:${udp.address().port}", protocol: udp }`,
  )
  .join('\n')}
`;
  const site = await startWorkers(text);
  for (const index of [0, 1, 2]) {
    const status = site.nodeOf(`laptop${index}`).status();
    if (status.role !== 'tunnel') throw new Error('the node has another role');
    const portOf = (kind: string): number =>
      Number(
        status.listeners
          .find((listener) => listener.kind === kind)
          ?.listen.split(':')
          .at(-1),
      );
    const program = await connectTo(portOf('tcp'));
    program.end('from the program');
    const socket = await tcp.accept();
    expect(await readAll(socket)).toBe('from the program');
    socket.end('to it');
    expect(await readAll(program)).toBe('to it');
    const packets = createSocket('udp4');
    try {
      packets.send('packet', portOf('udp'), '127.0.0.1');
      expect(String((await once(packets, 'message'))[0])).toBe('packet');
    } finally {
      packets.close();
    }
  }
  expect(await site.status()).toMatchObject({ tcpTunnels: { answers: { 200: 3 } }, tunnels: { answers: { 200: 3 } } });
});

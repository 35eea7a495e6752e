import { randomBytes } from 'node:crypto';
import * as Moq from '@moq/net';
import type { Http3Client } from '@sheaf/native';
import { expect, it, vi } from 'vitest';
import type { EdgeStatus, GatewayStatus } from '../../src/observability/status.js';
import { collect, get, getByHttp2 } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { addGroup, announcement, connectMoq, framesOf, publishCataloged } from '../support/moq_client.js';
import { openSession, sendAndReadAll } from '../support/sessions.js';
import { crash, openAtEach, startWorkers, statusOf, type RunningWorkers } from '../support/workers.js';

const large = randomBytes(2_000_000);
const name = Moq.Path.from('studio');

const yamlOf = (edge: string): string => `nodes:
  laptop:
    role: edge
    listen: 127.0.0.1:0
    workers: 2
    admin: 127.0.0.1:0
    gateway: site
    show_paths: true
    paths: [{ local: 127.0.0.1 }, { local: 127.0.0.2 }]
    path_scheduler: round-robin
    media: [{ path: /live, channel: /channel }]
${edge}
  site:
    role: gateway
    listen: 127.0.0.1:0
    workers: 3
    path_scheduler: round-robin
    channels: { live: {} }
    routes:
      - { path: /echo, webtransport: echo }
      - { path: /live, media: { channel: live } }
      - { path: /channel, channel: live }
      - { files: ./site }
`;
const yaml = yamlOf('    http: 127.0.0.1:0');

const startEdge = (): Promise<RunningWorkers> => startWorkers(yaml, { 'site/a.txt': 'hello', 'site/large.bin': large });

const edgeStatus = async (edge: RunningWorkers): Promise<EdgeStatus> => (await edge.status()) as EdgeStatus;
const gatewayStatus = async (edge: RunningWorkers): Promise<GatewayStatus> =>
  (await statusOf(edge.nodeOf('site'))) as GatewayStatus;

/** A client of each worker of the edge */
const clientsOf = (edge: RunningWorkers): Promise<Http3Client[]> => openAtEach(edge, () => connect(edge.port));

const page = async (client: Http3Client): Promise<string> => String((await ask(client, { path: '/a.txt' })).body);

it('two workers of an edge each have a connection to the gateway, over all of its paths', async () => {
  const edge = await startEdge();
  const clients = await clientsOf(edge);
  for (const client of clients) expect(await page(client)).toBe('hello');
  for (let turn = 0; turn < 6; turn++) {
    expect((await get(edge.port, '/a.txt')).body.toString()).toBe('hello');
    expect((await getByHttp2(edge.port, '/a.txt')).body.toString()).toBe('hello');
  }
  const plain = await fetch(`http://127.0.0.1:${edge.node.httpAddress?.port}/a.txt`);
  expect(await plain.text()).toBe('hello');
  await vi.waitFor(async () => {
    const { gateway } = await edgeStatus(edge);
    expect(gateway).toMatchObject({ state: 'open', opened: 2 });
    const states = gateway.connections.map(({ paths }) => paths.map(({ state }) => state));
    expect(states).toEqual(Array.from({ length: 2 }, () => ['active', 'active']));
  }, 30_000);
  for (const client of clients)
    expect((await collect(await client.request({ path: '/large.bin' }))).equals(large)).toBe(true);
  const { gateway } = await edgeStatus(edge);
  for (const { paths } of gateway.connections)
    expect(paths.filter(({ bytesReceived }) => bytesReceived > 20_000)).toHaveLength(2);
  expect((await edgeStatus(edge)).requestsTotal).toBe(2 + 12 + 1 + 2);
});

it('clients of an edge open further paths to their worker, and see the paths of it alone', async () => {
  const edge = await startEdge();
  for (const client of await openAtEach(edge, () => connect(edge.port, { localAddress: '127.0.0.1' }))) {
    await page(client);
    await vi.waitFor(() => client.openPath({ local: '127.0.0.1' }), 30_000);
    expect((await collect(await client.request({ path: '/large.bin' }))).equals(large)).toBe(true);
    const used = client.status().paths.filter(({ bytesReceived }) => bytesReceived > 20_000);
    expect(used).toHaveLength(2);
    const told = await ask(client, { path: '/.well-known/sheaf/paths' });
    await vi.waitFor(() => expect(JSON.parse(told.body.toString())).toMatchObject({ paths: [{}, {}] }), 30_000);
  }
  const answers = await Promise.all(
    (await clientsOf(edge)).map(async (client) => (await ask(client, { path: '/a.txt' })).headers['sheaf-response']),
  );
  expect(new Set(answers).size).toBe(2);
});

it('sessions of WebTransport go through each worker of an edge', async () => {
  const edge = await startEdge();
  const sessions = await openAtEach(edge, () => openSession(edge.port, '/echo', edge.node.certificate.hash));
  for (const session of sessions) expect(String(await sendAndReadAll(session, Buffer.from('there')))).toBe('there');
  const { webTransportSessions } = await edgeStatus(edge);
  expect(webTransportSessions).toBeGreaterThanOrEqual(2);
  expect(await gatewayStatus(edge)).toMatchObject({ webTransportSessions });
});

it('a broadcast reaches an edge once, and viewers at each of its workers, also after a crash', async () => {
  const edge = await startEdge();
  const publisher = await connectMoq(await gatewayPort(edge));
  const { video } = publishCataloged(publisher, name);
  const viewers = await openAtEach(edge, () => connectMoq(edge.port));
  const tracks = await Promise.all(
    viewers.map(async (viewer) => {
      await announcement(viewer.announced(), name);
      return viewer.consume(name).subscribe('video');
    }),
  );
  addGroup(video, [Buffer.from('key'), Buffer.from('delta')]);
  for (const track of tracks)
    expect((await framesOf((await track.recvGroup())!)).map(String)).toEqual(['key', 'delta']);
  expect((await gatewayStatus(edge)).channels).toMatchObject([{ name: 'live', receivers: 1 }]);
  const { media, webTransportSessions } = await edgeStatus(edge);
  expect(media).toMatchObject([
    { route: '/live', state: 'want', joined: 1, broadcasts: 1, viewers: webTransportSessions },
  ]);
  const page = await (await fetch(`http://127.0.0.1:${edge.node.adminAddress!.port}/metrics`)).text();
  expect(page.match(/^sheaf_media_channel_state.*$/gm)).toEqual([
    'sheaf_media_channel_state{route="/live",state="want"} 1',
  ]);
  expect(page).toContain('sheaf_media_broadcasts{route="/live"} 1\n');
  expect(page).toContain(`sheaf_media_viewers{route="/live"} ${webTransportSessions}\n`);
  // The worker that is in the channel
  await crash(edge.node, 0);
  addGroup(video, [Buffer.from('again')]);
  for (const client of await clientsOf(edge))
    await expect
      .poll(async () => String((await ask(client, { path: '/live/studio/video/newest' })).body), { timeout: 30_000 })
      .toContain('again');
});

it('a worker of an edge that crashes costs its own connections, and a reload reaches the successor', async () => {
  const edge = await startEdge();
  const [lost, kept] = await clientsOf(edge);
  for (const client of [lost!, kept!]) expect(await page(client)).toBe('hello');
  await crash(edge.node, 0);
  await expect(page(lost!)).rejects.toThrow();
  expect(await page(kept!)).toBe('hello');
  const changed = yamlOf('    page_loader: off\n    limits: { slow_responses: 50, drain: 1s }');
  expect(await edge.change(changed)).toMatchObject({ accepted: true });
  for (const client of [...(await clientsOf(edge)), kept!]) {
    expect(await page(client)).toBe('hello');
    const { body } = await ask(client, { path: '/.well-known/sheaf/certificate-hashes' });
    expect(JSON.parse(String(body))).toMatchObject({ page_loader: 'off' });
  }
  expect(edge.node.httpAddress).toBeUndefined();
  expect(await edge.change(changed.replace('workers: 2', 'workers: 3'))).toMatchObject({
    accepted: false,
    refusal: { code: 'RELOAD_NEEDS_RESTART' },
  });
});

async function gatewayPort(edge: RunningWorkers): Promise<number> {
  return Number((await gatewayStatus(edge)).listen.split(':').at(-1));
}

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { UpstreamGroup } from '../../../src/targets/upstream/upstream_group.js';
import { collect } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { startReloading } from '../../support/reloading.js';
import { openSession, sendAndReadAll } from '../../support/sessions.js';
import { startTarget as startTcpTarget } from '../../support/tcp_target.js';
import { ask as askForTunnel } from '../../support/tcp_tunnels.js';
import { capsule, startTarget as startUdpTarget } from '../../support/udp_target.js';
import { startUpstream } from '../../support/upstream.js';

const reloads = 100;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Each generation differs in every route but the one for sessions, and in limits. */
const yamlOf = (generation: number, origin: string): string => `
listen: 127.0.0.1:0
limits: { body_size: ${generation + 1}MiB, slow_responses: ${100 + generation} }
routes:
  - { path: /page, files: ./${generation % 2 === 0 ? 'even' : 'odd'} }
  - { path: /download, upstream: { to: "${origin}", queue: ${100 + generation}, health: { path: /, interval: 100ms } } }
  - { path: /echo, webtransport: echo }
  - { path: /udp, connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8, tunnels: ${10 + generation} } }
  - { connect: { allow: 127.0.0.1, clients: 127.0.0.0/8, tunnels: ${10 + generation} } }
`;

const files = { 'even/a.txt': 'even', 'odd/a.txt': 'odd' };

async function pageByHttp2(session: ClientHttp2Session): Promise<string> {
  const stream = session.request({ ':path': '/page/a.txt' });
  return (await collect(stream)).toString();
}

/** Asks again and again until `stop`, and resolves with all that was answered. */
function keepAsking(page: () => Promise<string>): { stop(): Promise<string[]> } {
  const answers: string[] = [];
  let stopped = false;
  const run = (async () => {
    while (!stopped) answers.push(await page());
  })();
  return {
    async stop() {
      stopped = true;
      await run;
      return answers;
    },
  };
}

/** A tunnel for UDP over HTTP/1.1 */
async function openUdpTunnel(port: number, target: number): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  socket.write(
    `GET /udp/127.0.0.1/${target}/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: connect-udp\r\nCapsule-Protocol: ?1\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /);
  return socket;
}

/** An upstream whose download the test feeds */
async function startDownloads() {
  let feed: ServerResponse | undefined;
  const upstream = await startUpstream((request, response) => {
    if (request.url === '/') response.end();
    else (feed = response).write('begin ');
  });
  return { origin: upstream.origin, feed: () => feed! };
}

/** Returns weak references to the groups that are opened from now on. A spy would keep them all as its results. */
function watchGroups(): WeakRef<UpstreamGroup>[] {
  const groups: WeakRef<UpstreamGroup>[] = [];
  const open = UpstreamGroup.open.bind(UpstreamGroup);
  UpstreamGroup.open = async (...options) => {
    const group = await open(...options);
    groups.push(new WeakRef(group));
    return group;
  };
  onTestFinished(() => void (UpstreamGroup.open = open));
  return groups;
}

it(`${reloads} reloads under load fail no request, close no connection, and leave nothing behind`, async () => {
  const groups = watchGroups();
  const downloads = await startDownloads();
  const site = await startReloading({ yaml: yamlOf(0, downloads.origin), files });
  const { port } = site;

  const client = await connect(port);
  const http2 = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => http2.destroy());
  const download = await client.request({ path: '/download/x' });
  const body = collect(download);
  const session = await openSession(port, '/echo', site.gateway.certificate.hash);
  const tcpTarget = await startTcpTarget();
  const tunnel = await askForTunnel('2', port, { authority: `127.0.0.1:${tcpTarget.port}` });
  const atTarget = await tcpTarget.accept();
  const udpTarget = await startUdpTarget((packet) => packet);
  const udpTunnel = await openUdpTunnel(port, udpTarget.address().port);
  const load = [
    keepAsking(async () => (await ask(client, { path: '/page/a.txt' })).body.toString()),
    keepAsking(() => pageByHttp2(http2)),
  ];
  const connections = site.status().connections.map(({ id }) => id);
  const tcpConnections = site.gateway.status().tcpConnections;

  const heap: number[] = [];
  const handles: number[] = [];
  for (let generation = 1; generation <= reloads; generation++) {
    expect(await site.change(yamlOf(generation, downloads.origin))).toMatchObject({ accepted: true });
    downloads.feed().write(`${generation} `);
    const now = generation % 2 === 0 ? 'even' : 'odd';
    expect((await ask(client, { path: '/page/a.txt' })).body.toString()).toBe(now);
    expect(await pageByHttp2(http2)).toBe(now);
    expect((await sendAndReadAll(session, Buffer.from(now))).toString()).toBe(now);
    tunnel.outgoing.write(now);
    expect(String(((await once(atTarget, 'data')) as [Buffer])[0])).toBe(now);
    udpTunnel.write(capsule(now));
    expect(((await once(udpTunnel, 'data')) as [Buffer])[0]).toEqual(capsule(now));
    if (generation % (reloads / 4) !== 0) continue;
    collectGarbage();
    heap.push(process.memoryUsage().heapUsed);
    handles.push(process.getActiveResourcesInfo().filter((name) => name !== 'Timeout' && name !== 'Immediate').length);
  }

  const answers = (await Promise.all(load.map((each) => each.stop()))).flat();
  expect(answers.filter((answer) => answer !== 'even' && answer !== 'odd')).toEqual([]);
  downloads.feed().end('end');
  expect((await body).toString()).toBe(
    `begin ${Array.from({ length: reloads }, (_, index) => `${index + 1} `).join('')}end`,
  );
  const status = site.status();
  expect(status.connections.map(({ id }) => id)).toEqual(connections);
  expect(status.tcpConnections).toBe(tcpConnections);
  expect(status).toMatchObject({ tcpTunnels: { open: 1, answers: { 200: 1 } }, tunnels: { open: 1 } });
  expect(status.requestsTotal).toBeGreaterThanOrEqual(answers.length + 2 * reloads);

  // What generations leave behind would be as many groups as there were reloads, each with its connections.
  await vi.waitFor(() => {
    collectGarbage();
    expect(groups.filter((group) => group.deref()).length).toBeLessThan(reloads / 10);
  }, 30_000);
  expect(groups).toHaveLength(reloads + 1);
  expect(handles.at(-1)).toBeLessThanOrEqual(handles[0]! + 5);
  expect(heap.at(-1)! - heap[0]!).toBeLessThan(8 * 2 ** 20);
}, 120_000);

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { connectHttp3 } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { collect, get, getByHttp2 } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { openSession, sendAndReadAll } from '../support/sessions.js';
import { startTarget as startTcpTarget } from '../support/tcp_target.js';
import { ask as askForTunnel } from '../support/tcp_tunnels.js';
import { capsule, startTarget as startUdpTarget } from '../support/udp_target.js';
import { residentBytes, startUpgrading } from '../support/upgrading.js';
import { startUpstream } from '../support/upstream.js';

const upgrades = 20;

const yamlOf = (generation: number, origin: string): string => `workers: 1
routes:
  - { path: /page, files: ./${generation % 2 === 0 ? 'even' : 'odd'} }
  - { path: /download, upstream: "${origin}" }
  - { path: /echo, webtransport: echo }
  - { path: /udp, connect_udp: { allow: 127.0.0.1, clients: 127.0.0.0/8 } }
  - { connect: { allow: 127.0.0.1, clients: 127.0.0.0/8 } }
`;

const files = { 'even/a.txt': 'even', 'odd/a.txt': 'odd' };
const path = '/page/a.txt';

const overHttp2 = async (session: ClientHttp2Session): Promise<string> =>
  (await collect(session.request({ ':path': path }))).toString();

/** A request on a connection of its own */
async function once3(port: number): Promise<string> {
  const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true });
  const { body } = await ask(client, { path });
  await client.close();
  return body.toString();
}

/** Asks again and again until `stop`, and resolves with all that was answered. */
function keepAsking(page: () => Promise<string>): { stop(): Promise<string[]> } {
  const answers: string[] = [];
  let stopped = false;
  const run = (async () => {
    while (!stopped) {
      answers.push(await page());
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
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
  const upstream = await startUpstream((_, response) => void (feed = response).write('begin '));
  return { origin: upstream.origin, feed: () => feed! };
}

it(`${upgrades} upgrades under load fail no request, close no connection, and leave nothing behind`, async () => {
  const downloads = await startDownloads();
  const site = await startUpgrading({ yaml: yamlOf(0, downloads.origin), files });
  const { port } = site;
  const first = await site.status();

  const client = await connect(port);
  const http2 = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => http2.destroy());
  const body = collect(await client.request({ path: '/download/x' }));
  const session = await openSession(port, '/echo', first.certificate.sha256);
  const tcpTarget = await startTcpTarget();
  const tunnel = await askForTunnel('3', port, { authority: `127.0.0.1:${tcpTarget.port}` });
  const atTarget = await tcpTarget.accept();
  const udpTarget = await startUdpTarget((packet) => packet);
  const udpTunnel = await openUdpTunnel(port, udpTarget.address().port);
  const load = [
    keepAsking(async () => (await ask(client, { path })).body.toString()),
    keepAsking(() => overHttp2(http2)),
    keepAsking(() => once3(port)),
    keepAsking(async () => (await getByHttp2(port, path)).body.toString()),
    keepAsking(async () => (await get(port, path)).body.toString()),
  ];

  const resident: number[] = [];
  for (let generation = 1; generation <= upgrades; generation++) {
    await site.write(yamlOf(generation, downloads.origin));
    const outcome = await site.upgrade();
    expect(outcome).toMatchObject({ accepted: true });
    downloads.feed().write(`${generation} `);
    const now = generation % 2 === 0 ? 'even' : 'odd';
    // New connections are those of the new process, and old ones stay with the first.
    expect(await once3(port)).toBe(now);
    expect((await get(port, path)).body.toString()).toBe(now);
    expect((await ask(client, { path })).body.toString()).toBe('even');
    expect(await overHttp2(http2)).toBe('even');
    expect((await sendAndReadAll(session, Buffer.from(now))).toString()).toBe(now);
    tunnel.outgoing.write(now);
    expect(String(((await once(atTarget, 'data')) as [Buffer])[0])).toBe(now);
    udpTunnel.write(capsule(now));
    expect(((await once(udpTunnel, 'data')) as [Buffer])[0]).toEqual(capsule(now));
    if (outcome.accepted) resident.push(await residentBytes(outcome.after.pid));
  }

  const answers = (await Promise.all(load.map((each) => each.stop()))).flat();
  expect(answers.filter((answer) => answer !== 'even' && answer !== 'odd')).toEqual([]);
  downloads.feed().end('end');
  expect((await body).toString()).toBe(
    `begin ${Array.from({ length: upgrades }, (_, index) => `${index + 1} `).join('')}end`,
  );
  const status = await site.status();
  expect(status).toMatchObject({ upgrade: { generation: upgrades }, certificate: first.certificate });
  expect(Math.max(...resident.slice(-5)) - Math.max(...resident.slice(0, 5))).toBeLessThan(16 * 2 ** 20);
}, 240_000);
